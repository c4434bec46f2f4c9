import ApproovAuthority
import ArgumentParser

/// `approov secstrings`: the secrets that genuine apps receive, so that no app's files contain them.
struct SecureStringsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secstrings",
        abstract: "Set, list and remove secure strings: secrets that only genuine apps receive.",
        discussion: """
            The authority sends the strings to an app after genuine evidence, and
            to no other app, so that a secret such as an API key is in none of the
            app's files. The app looks a string up by its key. An attestation for
            an oblivious host brings none.

            -addKey adds a string, or gives an existing one a new value. An
            account has at most 16 strings. A key has 1 to 64 visible ASCII
            characters. A value has at most 4096 bytes, and no CR, LF or NUL; a
            session puts only values of 8 bytes or more into requests.
            Apps receive a change with their next attestation, at the
            latest when their token expires (five minutes by default).

            Other users of this machine can see a value on the command line, so
            read it from a file (@FILE) or from standard input (-). A final newline
            is not part of the value. -list shows key and date, never
            a value.

            Examples:
            approov secstrings -addKey maps-key -predefinedValue @maps-key.txt
            pass show maps-key | approov secstrings -addKey maps-key -predefinedValue -
            approov secstrings -list
            approov secstrings -remove maps-key
            """)

    @Option(name: .dash("addKey"), help: ArgumentHelp("Set the string with this key; needs -predefinedValue.", valueName: "key"))
    var addKey: String?

    // Unconditional: a secret may begin with a dash.
    @Option(
        name: .dash("predefinedValue"), parsing: .unconditional,
        help: ArgumentHelp("With -addKey: the value, or the file or standard input that contains it.", valueName: "value|@file|-"))
    var predefinedValue: String?

    @Option(name: .dash("remove"), help: ArgumentHelp("Remove the string with this key.", valueName: "key"))
    var remove: String?

    @Flag(name: .dash("list"), help: "List the strings by key, without their values.")
    var list = false

    // An error of the parser would show these words, which may be a part of the value.
    @Argument(help: .hidden) var rest: [String] = []

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard rest.isEmpty else { throw ValidationError("A word belongs to no option; put a value with spaces in quotes.") }
        try OneOf.check(["-addKey": addKey != nil, "-remove": remove != nil, "-list": list])
        guard (addKey == nil) == (predefinedValue == nil) else {
            throw ValidationError("-addKey and -predefinedValue must be given together.")
        }
    }

    private struct Entry: Encodable {
        let key: String
        let changedAt: String
    }

    private struct Removal: Encodable {
        let change = "removed"
        let key: String
    }

    func run() async throws {
        if let addKey, let predefinedValue {
            // Read and check the value before opening the store: a mistake must not make one.
            let value = try SecretValue.read(predefinedValue)
            try AuthorityStore.checkSecureString(value, for: addKey)
            let store = try store.open(.making)
            try await store.setSecureString(value, for: addKey)
            if value.utf8.count < 8 {
                Console.note("approov: sessions put only values of 8 bytes or more into requests: this one has fewer")
            }
            try show(store.secureStrings.filter { $0.key == addKey })
        } else if let remove {
            try await store.open(.changing).removeSecureString(remove)
            if output.json { return try Console.json(Removal(key: remove)) }
            Console.line("removed \(remove)")
        } else {
            let strings = try store.open(.reading).secureStrings
            if strings.isEmpty { Console.note("approov: no secure strings in \(store.path)") }
            try show(strings)
        }
    }

    private func show(_ strings: [SecureString]) throws {
        let entries = strings.map { Entry(key: $0.key, changedAt: RFC3339.text(seconds: $0.changedAt)) }
        if output.json { return try Console.json(entries) }
        for entry in entries { Console.line("\(entry.key)  \(entry.changedAt)") }
    }
}
