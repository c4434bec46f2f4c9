import ApproovAuthority
import ArgumentParser
import Attestation
import Foundation

/// `approov registration`: the executables that get genuine tokens.
struct RegistrationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registration",
        abstract: "Register executables: only a registered executable gets valid tokens.",
        discussion: """
            The authority knows an executable by its measurement: the SHA-256 of
            its bytes. Register every build that you ship. A running authority
            applies a change within a second; tokens that were issued before a
            removal stay valid until they expire.

            -add takes any number of files and measurements. -import reads lines
            of a measurement and a label, as -list and sha256sum print them; it
            ignores empty lines and lines that begin with #. A measurement is
            base64 or, as sha256sum prints it, hexadecimal. Each command registers
            everything that it is given, or nothing.

            With -expireAfter, a registration is valid for that long: give
            for example 12h or 90d. Afterwards the executable is rejected with the
            reason registration-expired until it is registered again. Without it,
            a registration does not expire; adding an executable again replaces
            label and expiry. -import replaces the label, and the expiry only if
            the line has one. An expired registration becomes valid again: until
            the expiry in its line, or else without an end.

            -list shows measurement, date, expiry (if any) and label, the oldest
            first.

            Examples:
            approov registration -add ./my-app -label "1.4.2"
            approov registration -add ./my-beta -expireAfter 90d
            approov registration -add ./my-app ./my-tool
            approov registration -list
            approov registration -remove ./my-app
            sha256sum build/*/my-app | approov registration -import -
            """)

    @Option(
        name: .dash("add"), parsing: .upToNextOption,
        help: ArgumentHelp("Register executables or their measurements.", valueName: "file|measurement"))
    var add: [String] = []

    @Option(
        name: .dash("import"),
        help: ArgumentHelp("Register the measurements in a file, one per line; - reads standard input.", valueName: "file|-"))
    var importFile: String?

    @Option(
        name: .dash("remove"),
        help: ArgumentHelp("Remove the registration of an executable or a measurement.", valueName: "file|measurement"))
    var remove: String?

    @Flag(name: .dash("list"), help: "List the registrations, the oldest first.")
    var list = false

    @Option(
        name: .dash("label"), help: ArgumentHelp("With -add: a label for the registration. Default: the file's name.", valueName: "text"))
    var label: String?

    @Option(
        name: .dash("expireAfter"), help: ArgumentHelp("With -add: how long the registration is valid, 1s to 3650d.", valueName: "time"),
        transform: TimeSpan.read)
    var expireAfter: TimeSpan?

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try OneOf.check(["-add": !add.isEmpty, "-import": importFile != nil, "-remove": remove != nil, "-list": list])
        if let expireAfter {
            guard !add.isEmpty else { throw ValidationError("-expireAfter is only valid with -add.") }
            try expireAfter.checkAsExpiry()
        }
        if let label {
            guard !add.isEmpty else { throw ValidationError("-label is only valid with -add.") }
            guard label.count <= RegistrationLabel.maximumCharacters, label.utf8.count <= RegistrationLabel.maximumBytes else {
                throw ValidationError("-label must have at most 256 characters and 1024 bytes.")
            }
            guard RegistrationLabel.isPlain(label) else {
                throw ValidationError("-label must be one line of text without control characters.")
            }
        }
    }

    private struct Entry: Encodable {
        let measurement: String
        let label: String
        let addedAt: String
        let expiresAt: String?
    }

    func run() async throws {
        if !add.isEmpty {
            // Read the files before opening the store: an unreadable file must not make one.
            let expiresAt = expireAfter?.end
            let entries = try add.map {
                (measurement: try Self.measurement(of: $0), label: label ?? Self.standardLabel(of: $0), expiresAt: expiresAt)
            }
            let store = try store.open(.making)
            try await store.addRegistrations(entries)
            let given = Set(entries.map(\.measurement))
            try show(store.registrations.filter { given.contains($0.measurement) })
        } else if let importFile {
            let entries = try RegistrationImport(file: importFile).entries
            try report(await store.open(.making).importRegistrations(entries))
        } else if let remove {
            let measurement = try Self.measurement(of: remove)
            try await store.open(.changing).removeRegistration(measurement)
            if output.json { return try Console.json(Removal(measurement: measurement, change: "removed")) }
            Console.line("removed \(measurement)")
        } else {
            let registrations = try store.open(.reading).registrations
            if registrations.isEmpty { Console.note("approov: no registrations in \(store.path)") }
            try show(registrations)
        }
    }

    /// The measurement of a file or, if no file has that name, the text as a measurement.
    private static func measurement(of source: String) throws -> String {
        guard !FileManager.default.fileExists(atPath: source), let known = try? AuthorityStore.canonicalMeasurement(source) else {
            return try ExecutableMeasurement.sha256(ofFileAt: URL(filePath: source))
        }
        return known
    }

    private static func standardLabel(of source: String) -> String {
        guard FileManager.default.fileExists(atPath: source) else { return "" }
        return Console.printable(URL(filePath: source).lastPathComponent)
    }

    private struct Removal: Encodable {
        let measurement: String
        let change: String
    }

    private struct Import: Encodable {
        let added: Int
        let relabelled: Int
        let expiryChanged: Int
        /// The registrations that had expired and are valid again, if any.
        let renewed: Int?
        let unchanged: Int
    }

    private func report(_ result: RegistrationChange) throws {
        let bulk = result.bulk
        if output.json {
            return try Console.json(
                Import(
                    added: bulk.added, relabelled: result.relabelled, expiryChanged: result.expiriesChanged,
                    renewed: result.renewed > 0 ? result.renewed : nil,
                    unchanged: bulk.unchanged))
        }
        let renewed = result.renewed > 0 ? " (had expired and are valid again: \(result.renewed))" : ""
        let expiries = result.expiriesChanged > 0 ? "with another expiry \(result.expiriesChanged)\(renewed), " : ""
        Console.line("added \(bulk.added), relabelled \(result.relabelled), \(expiries)unchanged \(bulk.unchanged)")
    }

    private func show(_ registrations: [Registration]) throws {
        let entries = registrations.map {
            Entry(
                measurement: $0.measurement, label: $0.label, addedAt: RFC3339.text(seconds: $0.addedAt),
                expiresAt: $0.expiresAt.map(RFC3339.text(seconds:)))
        }
        if output.json { return try Console.json(entries) }
        for (entry, registration) in zip(entries, registrations) {
            let expiry = RFC3339.expiry(registration.expiresAt).map { "  \($0)" } ?? ""
            Console.line("\(entry.measurement)  \(entry.addedAt)\(expiry)  \(Console.printable(entry.label))")
        }
    }
}
