import ApproovAuthority
import ApproovTokens
import ArgumentParser
import Foundation

/// `approov keyset`: key pairs that sign the tokens of some hosts.
struct KeysetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyset",
        abstract: "Make, list and remove key pairs (keysets) that sign tokens in place of the account secret, or custom JWTs.",
        discussion: """
            Backends then need no secret: the authority publishes the public keys
            at /.well-known/jwks.json. `approov api -add HOST -keySetKID k1` makes
            a host use a key pair. -list shows each pair's key identifier,
            algorithm and date, the oldest first. An account has at most 62 key
            pairs for tokens.

            A key pair with -use custom signs custom JWTs (approov customjwt) and
            no tokens: no host can name it, and its public key is not in
            /.well-known/jwks.json but in /.well-known/custom-jwks.json. The
            newest one signs; remove the one before when its last JWT has expired.

            -getPEM writes the public key of a pair to a new file; - is standard
            output.

            The public key also lets an app check its own token and find out that
            its attestation failed; an app cannot check a token that the account
            secret signed.

            Examples:
            approov keyset -add ES256 -kid k1
            approov api -add api.example.com -pinFrom server.pem -pinFrom backup.key -keySetKID k1
            approov keyset -add ES256 -kid partner-1 -use custom
            approov keyset -kid partner-1 -getPEM partner-1.pem
            approov keyset -list
            approov keyset -remove k1
            """)

    enum Algorithm: String, ExpressibleByArgument, CaseIterable {
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    enum Use: String, ExpressibleByArgument, CaseIterable {
        case token, custom
    }

    @Option(name: .dash("add"), help: ArgumentHelp("Make a key pair for this algorithm.", valueName: "RS256|ES256"))
    var add: Algorithm?

    @Option(
        name: .dash("kid"),
        help: ArgumentHelp(
            "With -add: the key identifier (kid), 1 to 64 letters, digits, dots, dashes and underscores. With -getPEM: the key pair.",
            valueName: "kid"))
    var kid: String?

    @Option(
        name: .dash("use"),
        help: ArgumentHelp("With -add: whether the key pair signs tokens or custom JWTs. Default: token.", valueName: "token|custom"))
    var use: Use?

    @Option(name: .dash("getPEM"), help: ArgumentHelp("With -kid: write the public key to a file as PEM.", valueName: "file|-"))
    var getPEM: String?

    @Option(name: .dash("remove"), help: ArgumentHelp("Remove a key pair that no host uses.", valueName: "kid"))
    var remove: String?

    @Flag(name: .dash("list"), help: "List the key pairs, the oldest first.")
    var list = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try OneOf.check(["-add": add != nil, "-remove": remove != nil, "-list": list, "-getPEM": getPEM != nil])
        guard (add != nil || getPEM != nil) == (kid != nil) else {
            throw ValidationError(kid == nil ? "-add and -getPEM need -kid." : "-kid is only valid with -add or -getPEM.")
        }
        if use != nil, add == nil { throw ValidationError("-use is only valid with -add.") }
    }

    private struct Entry: Encodable {
        let kid: String
        let algorithm: String
        let addedAt: String
        let use: String
    }

    func run() async throws {
        let options = store
        if add != nil, let kid { try AuthorityStore.checkNewKeyset(kid: kid) }
        let store = try options.open(add != nil ? .making : remove != nil ? .changing : .reading)
        if let add, let kid {
            try await store.addKeyset(add == .rs256 ? .rs256 : .es256, kid: kid, use: use == .custom ? .custom : .token)
        } else if let getPEM, let kid {
            return try writePublicKey(of: kid, to: getPEM, from: store)
        } else if let remove {
            try await store.removeKeyset(kid: remove)
            if !output.json { return Console.line("removed \(remove)") }
        }
        let entries = store.keysets.map {
            Entry(kid: $0.kid, algorithm: $0.algorithm, addedAt: RFC3339.text(seconds: $0.addedAt), use: $0.use.rawValue)
        }
        if output.json { return try Console.json(entries) }
        if entries.isEmpty { Console.note("approov: no keysets in \(options.path)") }
        for entry in entries {
            Console.line("\(entry.kid)  \(entry.algorithm)  \(entry.addedAt)\(entry.use == Use.custom.rawValue ? "  custom" : "")")
        }
    }

    private struct Written: Encodable {
        let file: String
        let kid: String
    }

    private func writePublicKey(of kid: String, to file: String, from store: AuthorityStore) throws {
        guard let keyset = store.keysets.first(where: { $0.kid == kid }) else {
            throw CommandFailure("the account has no keyset \(kid); see: approov keyset -list")
        }
        let target = OutputFile(path: file)
        try target.write(Data("\(keyset.publicPEM.trimmingCharacters(in: .newlines))\n".utf8))
        guard !target.isStandardOutput else { return }
        if output.json { return try Console.json(Written(file: file, kid: kid)) }
        Console.line("wrote \(file): the public key of keyset \(kid)")
    }
}
