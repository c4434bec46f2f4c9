import ApproovAuthority
import ApproovTokens
import ArgumentParser

/// `approov secret`: the key that signs and checks tokens.
struct SecretCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret",
        abstract: "Show or change the account secret, which signs tokens (HS256).",
        discussion: """
            The secret is for the backends that check tokens: keep it like a
            password. Hosts with a keyset do not use it.

            -change makes a new secret. With an overlap the authority goes on
            signing with the old one until the overlap is over, so that no token
            is refused meanwhile:

            1. approov secret -change --yes -overlap 24h
            2. approov secret -get base64              the new secret, at once
               approov secret -get base64 -previous    the old one
            3. Give both to every backend before the overlap ends. A backend in
               Swift takes TokenVerifier(keys: [.hs256(new), .hs256(old)]).
            4. When the overlap is over, the authority signs with the new secret.
               Five minutes later (the life of a token) take the old one out of
               the backends.

            The overlap is 24h unless you say otherwise: 90s, 10m, 24h, up to
            30d. If the secret has leaked, change it without an overlap:
            -overlap 0 signs with the new secret at once and forgets the old one.
            Backends then refuse every call until they have the new secret.

            A running authority takes the change up within a second.

            Examples:
            approov secret -get base64
            approov secret -change --yes
            approov secret -change --yes -overlap 0
            """)

    enum Encoding: String, ExpressibleByArgument, CaseIterable {
        case base64, base64url
    }

    @Option(name: .dash("get"), help: ArgumentHelp("Print the secret.", valueName: "base64|base64url"))
    var get: Encoding?

    @Flag(name: .dash("previous"), help: "With -get: print the secret that the last change replaced.")
    var previous = false

    @Flag(name: .dash("change"), help: "Make a new secret.")
    var change = false

    @Option(
        name: .dash("overlap"),
        help: ArgumentHelp("With -change: how long the old secret goes on signing. Default: 24h.", valueName: "time"))
    var overlap: TimeSpan?

    @Flag(name: .long, help: "With -change: yes, change it.")
    var yes = false

    @OptionGroup var store: StoreOptions

    private var span: TimeSpan { overlap ?? TimeSpan(seconds: 86_400) }

    func validate() throws {
        guard (get == nil) == change else { throw ValidationError("Give either -get or -change.") }
        if previous, get == nil { throw ValidationError("-previous goes with -get.") }
        if !change, overlap != nil || yes { throw ValidationError("-overlap and --yes go with -change.") }
        guard span.seconds <= 30 * 86_400 else { throw ValidationError("-overlap is 30d at most.") }
        if change, !yes { throw ValidationError("\(consequence) Add --yes to do it.") }
    }

    /// The effect of a change, for an operator who has not confirmed it.
    private var consequence: String {
        guard span.seconds > 0 else {
            return "-change makes a new secret that signs at once: every backend refuses every call until it has the new secret."
        }
        return "-change makes a new secret. The old one signs for \(span) more: every backend needs both by then. "
            + "If the secret has leaked, use -overlap 0."
    }

    func run() async throws {
        let store = try store.open(change ? .changing : .reading)
        guard let get else {
            try await store.changeAccountSecret(overlap: span.duration)
            return report(store)
        }
        guard previous else {
            Console.line(Self.text(of: store.accountSecret, get))
            if let end = Self.end(of: store) {
                Console.note("approov: tokens are signed with the previous secret until \(end): backends need both; see -previous")
            }
            return
        }
        guard let secret = store.previousSecret?.secret else {
            throw CommandFailure("there is no previous secret: the last change had no overlap, or there was none")
        }
        Console.line(Self.text(of: secret, get))
    }

    private func report(_ store: AuthorityStore) {
        guard let end = Self.end(of: store) else {
            return Console.line("changed; give the new one to every backend: approov secret -get base64")
        }
        Console.line(
            "changed; the old one signs until \(end): until then give every backend both: approov secret -get base64, and -previous")
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
