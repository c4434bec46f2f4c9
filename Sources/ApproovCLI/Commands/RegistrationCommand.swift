import ApproovServer
import ArgumentParser
import Attestation
import Foundation

/// `approov registration`: the executables that get genuine tokens.
struct RegistrationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "registration",
        abstract: "Register executables: only a registered one gets tokens that verify.",
        discussion: """
            approov registration -add ./my-app [-label "1.4.2"]
            approov registration -list [--json]
            approov registration -remove ./my-app

            What is registered is the SHA-256 of the executable's bytes: register
            every build that you ship. -remove also takes what -list shows.
            """)

    @Option(name: .dash("add"), help: ArgumentHelp("Register an executable.", valueName: "file"))
    var add: String?

    @Option(name: .dash("remove"), help: ArgumentHelp("Take a registration back.", valueName: "file|measurement"))
    var remove: String?

    @Flag(name: .dash("list"), help: "List the registrations.")
    var list = false

    @Option(name: .dash("label"), help: ArgumentHelp("With -add: what to call it. Default: the file's name.", valueName: "text"))
    var label: String?

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard [add != nil, remove != nil, list].filter({ $0 }).count == 1 else {
            throw ValidationError("Give one of -add, -remove and -list.")
        }
        if label != nil, add == nil { throw ValidationError("-label goes with -add.") }
    }

    private struct Entry: Encodable {
        let measurement: String
        let label: String
        var addedAt: Int64?
    }

    func run() async throws {
        if let add {
            let measurement = try ExecutableMeasurement.sha256(ofFileAt: URL(filePath: add))
            let label = label ?? URL(filePath: add).lastPathComponent
            try await store.open(.making).addRegistration(measurement, label: label)
            try show([Entry(measurement: measurement, label: label)])
        } else if let remove {
            let measurement =
                FileManager.default.fileExists(atPath: remove)
                ? try ExecutableMeasurement.sha256(ofFileAt: URL(filePath: remove)) : remove
            try await store.open(.changing).removeRegistration(measurement)
            if !output.json { Console.line("removed \(measurement)") }
        } else {
            let registrations = try store.open(.reading).registrations
            if registrations.isEmpty { Console.note("approov: no registrations in \(store.path)") }
            try show(registrations.map { Entry(measurement: $0.measurement, label: $0.label, addedAt: $0.addedAt) })
        }
    }

    private func show(_ entries: [Entry]) throws {
        if output.json { return try Console.json(entries) }
        for entry in entries { Console.line("\(entry.measurement)  \(entry.label)") }
    }
}
