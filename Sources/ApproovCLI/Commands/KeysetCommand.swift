import ApproovAuthority
import ApproovTokens
import ArgumentParser

/// `approov keyset`: key pairs that sign the tokens of some hosts.
struct KeysetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keyset",
        abstract: "Make, list and remove key pairs (keysets) that sign tokens in place of the account secret.",
        discussion: """
            Backends then need no secret: the authority publishes the public keys
            at /.well-known/jwks.json. `approov api -add HOST -keySetKID k1` makes
            a host use a key pair. -list shows each pair's key identifier,
            algorithm and date, the oldest first.

            The public key also lets an app find out whether its attestation
            failed; with the account secret it cannot.

            Examples:
            approov keyset -add ES256 -kid k1
            approov api -add api.example.com -pinFrom server.pem -pinFrom backup.key -keySetKID k1
            approov keyset -list
            approov keyset -remove k1
            """)

    enum Algorithm: String, ExpressibleByArgument, CaseIterable {
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    @Option(name: .dash("add"), help: ArgumentHelp("Make a key pair for this algorithm.", valueName: "RS256|ES256"))
    var add: Algorithm?

    @Option(
        name: .dash("kid"),
        help: ArgumentHelp("With -add: the key identifier (kid), 1 to 64 letters, digits, dots, dashes and underscores.", valueName: "kid"))
    var kid: String?

    @Option(name: .dash("remove"), help: ArgumentHelp("Remove a key pair that no host uses.", valueName: "kid"))
    var remove: String?

    @Flag(name: .dash("list"), help: "List the key pairs, the oldest first.")
    var list = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard [add != nil, remove != nil, list].filter({ $0 }).count == 1 else {
            throw ValidationError("Give one of -add, -remove or -list.")
        }
        guard (add == nil) == (kid == nil) else { throw ValidationError("-add and -kid must be given together.") }
    }

    private struct Entry: Encodable {
        let kid: String
        let algorithm: String
        let addedAt: String
    }

    func run() async throws {
        let options = store
        let store = try options.open(add != nil ? .making : remove != nil ? .changing : .reading)
        if let add, let kid {
            try await store.addKeyset(add == .rs256 ? .rs256 : .es256, kid: kid)
        } else if let remove {
            try await store.removeKeyset(kid: remove)
            if !output.json { return Console.line("removed \(remove)") }
        }
        let entries = store.keysets.map { Entry(kid: $0.kid, algorithm: $0.algorithm, addedAt: RFC3339.text(seconds: $0.addedAt)) }
        if output.json { return try Console.json(entries) }
        if entries.isEmpty { Console.note("approov: no keysets in \(options.path)") }
        for entry in entries { Console.line("\(entry.kid)  \(entry.algorithm)  \(entry.addedAt)") }
    }
}
