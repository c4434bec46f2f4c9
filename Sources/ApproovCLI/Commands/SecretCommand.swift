import ApproovAuthority
import ApproovTokens
import ArgumentParser
import Attestation

/// `approov secret`: the key that signs and checks tokens.
struct SecretCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Show or change the account secret, which signs tokens (HS256), or the key that apps sign messages with.",
        discussion: """
            Backends check tokens with the secret: keep it like a password. Hosts
            with a keyset do not use it.

            -change makes a new secret. During the overlap the authority still
            signs with the old secret, so that no backend refuses a token:

            1. approov secret -change --yes -overlap 24h
            2. approov secret -get base64              the new secret, at once
               approov secret -get base64 -previous    the old one
            3. Give both to every backend before the overlap ends. A backend in
               Swift takes TokenVerifier(keys: [.hs256(new), .hs256(old)]).
            4. After the overlap the authority signs with the new secret. When the
               last old token has expired (five minutes later, or what serve
               --token-lifetime says), remove the old secret from the backends.

            The default overlap is 24h; give for example 90s, 10m or 2d, at most
            30d. If the secret has leaked, change it without an overlap:
            -overlap 0 signs with the new secret at once and deletes the old one.
            Backends then refuse every call until they have the new secret.

            -messageSigningKey change makes a new key for message signatures, or
            the first one. Apps that pass attestation receive it, even those that a
            development key or a device's policy excuses, and sign their requests
            with it; a backend checks them with the same key, so keep it like a
            password. Decode the printed base64url to get the key. Its first six
            bytes, which are visible characters, are its ID: the token's claim mskid.
            An attestation for an oblivious host brings none.

            During the overlap apps still receive the old key: give every backend
            both before it ends (get-base64url prints the new key at once, and with
            -previous the old one), and take the old one away when the last old
            token has expired.
            A backend in Swift takes .account([id: key, oldID: oldKey]). If the key
            has leaked, change it with -overlap 0: apps receive the new key at once,
            sign with the old one until their token expires, and backends
            refuse the signatures of keys that they do not have.

            A running authority applies the change within a second.

            Examples:
            approov secret -get base64
            approov secret -change --yes
            approov secret -change --yes -overlap 0
            approov secret -messageSigningKey change --yes
            approov secret -messageSigningKey get-base64url
            approov secret -messageSigningKey get-base64url -previous
            """)

    enum Encoding: String, ExpressibleByArgument, CaseIterable {
        case base64, base64url
    }

    enum KeyAction: String, ExpressibleByArgument, CaseIterable {
        case change
        case getBase64URL = "get-base64url"
    }

    @Option(name: .dash("get"), help: ArgumentHelp("Print the secret.", valueName: "base64|base64url"))
    var get: Encoding?

    @Flag(
        name: .dash("previous"),
        help: "With -get or get-base64url: print the secret or key that the last change replaced, if it had an overlap.")
    var previous = false

    @Flag(name: .dash("change"), help: "Make a new secret.")
    var change = false

    @Option(
        name: .dash("overlap"),
        help: ArgumentHelp(
            "With a change: how long the authority still signs with the old secret, or apps receive the old key, 0 to 30d. Default: 24h.",
            valueName: "time"), transform: TimeSpan.read)
    var overlap: TimeSpan?

    @Flag(name: .long, help: "With a change: confirm it.")
    var yes = false

    @Option(
        name: .dash("messageSigningKey"),
        help: ArgumentHelp("Make a new message-signing key, or print it.", valueName: "change|get-base64url"))
    var messageSigningKey: KeyAction?

    @OptionGroup var store: StoreOptions

    private var span: TimeSpan { overlap ?? TimeSpan(seconds: SecretOverlap.standard) }

    func validate() throws {
        try OneOf.check(["-get": get != nil, "-change": change, "-messageSigningKey": messageSigningKey != nil])
        if previous, get == nil, messageSigningKey != .getBase64URL {
            throw ValidationError("-previous is only valid with -get or -messageSigningKey get-base64url.")
        }
        let changes = change || messageSigningKey == .change
        if !changes, overlap != nil || yes {
            throw ValidationError("-overlap and --yes are only valid with -change or -messageSigningKey change.")
        }
        guard span.seconds <= SecretOverlap.longest else { throw ValidationError("-overlap must be at most 30d.") }
        if changes, !yes { throw ValidationError("\(change ? consequence : keyConsequence) Add --yes to do it.") }
    }

    private var keyConsequence: String {
        guard span.seconds > 0 else {
            return "-messageSigningKey change makes a new key that apps receive at once: backends without it refuse their signatures."
        }
        return "-messageSigningKey change makes a new key. Apps receive the old one for another \(span): "
            + "until then every backend needs both. If the key has leaked, use -overlap 0."
    }

    /// The effect of a change, for an operator who has not confirmed it.
    private var consequence: String {
        guard span.seconds > 0 else {
            return "-change makes a new secret that signs at once: every backend refuses every call until it has the new secret."
        }
        return "-change makes a new secret. The authority signs with the old one for another \(span): until then every backend needs both. "
            + "If the secret has leaked, use -overlap 0."
    }

    func run() async throws {
        if let messageSigningKey { return try await runKey(messageSigningKey) }
        let store = try store.open(change ? .changing : .reading)
        guard let get else {
            try await store.changeAccountSecret(overlap: span.duration)
            return report(store)
        }
        guard previous else {
            Console.line(Self.text(of: store.accountSecret, get))
            if let end = Self.end(of: store) {
                Console.note(
                    "approov: the authority signs with the previous secret until \(end); backends need both: "
                        + "approov secret -get base64 -previous")
            }
            return
        }
        guard let secret = store.previousSecret?.secret else {
            throw CommandFailure("there is no previous secret: the secret was never changed, or its last change had no overlap")
        }
        Console.line(Self.text(of: secret, get))
    }

    private func runKey(_ action: KeyAction) async throws {
        switch action {
        case .change:
            let store = try store.open(.making)
            let key = try await store.changeMessageSigningKey(overlap: span.duration)
            guard let end = Self.endOfKey(in: store) else {
                return Console.line(
                    "changed the message-signing key to \(key.id); apps sign with it after their next attestation, so give it to every "
                        + "backend now: approov secret -messageSigningKey get-base64url")
            }
            Console.line(
                "changed the message-signing key to \(key.id); apps receive the old one until \(end); before that give every backend both: "
                    + "approov secret -messageSigningKey get-base64url, and the same with -previous")
        case .getBase64URL where previous:
            guard let key = try store.open(.reading).previousMessageSigningKey?.key else {
                throw CommandFailure(
                    "there is no previous message-signing key: the key was never changed, or its last change had no overlap")
            }
            Console.line(key.base64url)
        case .getBase64URL:
            let store = try store.open(.reading)
            guard let key = store.messageSigningKey else {
                throw CommandFailure("the account has no message-signing key; make one: approov secret -messageSigningKey change --yes")
            }
            Console.line(key.base64url)
            if let end = Self.endOfKey(in: store) {
                Console.note(
                    "approov: apps receive the previous message-signing key until \(end); backends need both: "
                        + "approov secret -messageSigningKey get-base64url -previous")
            }
        }
    }

    /// The end of the message-signing key's overlap; nil without one.
    private static func endOfKey(in store: AuthorityStore) -> String? {
        store.isMessageSigningKeyOverlapping ? store.previousMessageSigningKey.map { RFC3339.text($0.signsUntil) } : nil
    }

    private func report(_ store: AuthorityStore) {
        guard let end = Self.end(of: store) else {
            return Console.line("changed the secret; give the new one to every backend: approov secret -get base64")
        }
        Console.line(
            "changed the secret; the authority signs with the old one until \(end); before that give every backend both: "
                + "approov secret -get base64, and approov secret -get base64 -previous")
    }

    /// The end of the overlap; nil without one.
    private static func end(of store: AuthorityStore) -> String? {
        store.isSecretOverlapping ? store.previousSecret.map { RFC3339.text($0.signsUntil) } : nil
    }

    private static func text(of secret: AccountSecret, _ encoding: Encoding) -> String {
        switch encoding {
        case .base64: secret.base64
        case .base64url: secret.base64url
        }
    }
}
