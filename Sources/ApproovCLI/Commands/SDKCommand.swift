import ApproovAuthority
import ArgumentParser
import Attestation
import Foundation

/// `approov sdk`: the initial configuration that apps ship with, and the keys that they trust.
struct SDKCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sdk",
        abstract: "Write the initial configuration that an app ships with, or change the authority's keys.",
        discussion: """
            approov sdk -getConfig approov-initial.config
                The file names the authority, its pins and the keys that sign
                configurations; it contains no secret. The authority must have
                run once, so that the store knows its URL and pins. The
                command replaces the account's earlier file, but no other one;
                - is standard output.
            approov sdk -getConfigString
                Prints the same configuration in one line, for a program that
                takes it as text: ApproovConfiguration(_:).
            approov sdk -rotateConfigKey
                Makes a new key that signs configurations. The old and the new
                key both sign the change, so running apps accept it.
            approov sdk -rotateServerKey
                Replaces the authority's TLS key with the backup key that the
                store made, and makes a new backup key. Then stop every
                authority on this store, and start them again. Apps already
                know the backup key and fetch the new pins. An app that has
                not fetched them by the next rotation can no longer reach the
                authority: leave months between two rotations. Within 24 hours
                of a rotation, or of a renewal of the certificate, the command
                needs --yes.
            approov sdk -newEpoch [--epoch N] --yes
                Makes a new key, and starts a higher epoch at version 1. Use it
                after the key was stolen, or after the store was restored from an
                old backup. Running apps keep their pins, and accept no new
                configuration until you ship a new initial configuration.

            Examples:
            approov sdk -getConfig approov-initial.config
            approov sdk -rotateConfigKey
            approov sdk -newEpoch --yes
            """)

    @Option(name: .dash("getConfig"), help: ArgumentHelp("Write the initial configuration to a file.", valueName: "file|-"))
    var getConfig: String?

    @Flag(name: .dash("getConfigString"), help: "Print the initial configuration in one line.")
    var getConfigString = false

    @Flag(name: .dash("rotateConfigKey"), help: "Replace the key that signs configurations; running apps accept the new one.")
    var rotateConfigKey = false

    @Flag(name: .dash("rotateServerKey"), help: "Replace the authority's TLS key with its backup; running apps accept it.")
    var rotateServerKey = false

    @Flag(name: .dash("newEpoch"), help: "Start a new epoch of configurations; every app then needs a new initial configuration.")
    var newEpoch = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With -getConfig or -getConfigString: the authority's URL. Default: the URL that it last served.", valueName: "url"))
    var authority: String?

    @Option(name: .long, help: ArgumentHelp("With -newEpoch: the number of the new epoch. Default: the next one.", valueName: "number"))
    var epoch: Int64?

    @Flag(name: .long, help: "With -newEpoch, or -rotateServerKey within 24 hours of the last time: confirm it.")
    var yes = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try OneOf.check([
            "-getConfig": getConfig != nil, "-getConfigString": getConfigString, "-rotateConfigKey": rotateConfigKey,
            "-rotateServerKey": rotateServerKey, "-newEpoch": newEpoch,
        ])
        if authority != nil, !isReading { throw ValidationError("--authority is only valid with -getConfig and -getConfigString.") }
        if getConfigString, output.json { throw ValidationError("-getConfigString prints JSON already; leave out --json.") }
        if !newEpoch, epoch != nil { throw ValidationError("--epoch is only valid with -newEpoch.") }
        if !newEpoch, !rotateServerKey, yes { throw ValidationError("--yes is only valid with -newEpoch and -rotateServerKey.") }
        if newEpoch, !yes {
            throw ValidationError(
                "After -newEpoch, apps accept no new configuration until you ship them a new initial configuration. Add --yes to do it.")
        }
        if getConfig?.isEmpty == true { throw ValidationError("-getConfig is empty: give a file, or - for standard output.") }
        if let authority, URL(string: authority)?.scheme != "https" { throw ValidationError("--authority must be an https URL.") }
    }

    private var isReading: Bool { getConfig != nil || getConfigString }

    func run() async throws {
        let store = try store.open(isReading ? .reading : .changing)
        if let getConfig {
            try await write(to: getConfig, from: store)
        } else if getConfigString {
            // The text ends with a newline already.
            Console.line(String(decoding: try await configuration(from: store).serialized.dropLast(), as: UTF8.self))
        } else if rotateConfigKey {
            try await store.rotateConfigurationKey()
            try report(
                "changed the key that signs configurations; running apps accept it; for new apps write a new file: "
                    + "approov sdk -getConfig FILE", store)
        } else if rotateServerKey {
            let pins = try await store.rotateServerKey(unlessWithin: yes ? nil : .seconds(86_400)).pins
            try report(
                "replaced the authority's TLS key with its backup; stop every authority on this store, then start them again; their "
                    + "pins are then: " + pins.joined(separator: " "), store)
        } else {
            try await store.startEpoch(epoch)
            try report("started a new epoch with a new key; ship every app a new initial configuration: approov sdk -getConfig FILE", store)
        }
    }

    private struct State: Encodable {
        let epoch: Int64
        let configurationVersion: Int64
    }

    private func report(_ change: String, _ store: AuthorityStore) throws {
        if output.json {
            try Console.json(State(epoch: store.configurationEpoch, configurationVersion: store.configurationVersion))
        } else {
            Console.line("\(change)\nthe configuration is now epoch \(store.configurationEpoch), version \(store.configurationVersion)")
        }
    }

    private struct Written: Encodable {
        let file: String
        let account: String
        let authority: String
        let epoch: Int64
    }

    private func configuration(from store: AuthorityStore) async throws -> InitialConfiguration {
        try await store.initialConfiguration(authority: authority.flatMap { URL(string: $0) })
    }

    private func write(to file: String, from store: AuthorityStore) async throws {
        let configuration = try await configuration(from: store)
        // An operator writes it again after each change that apps ship with.
        let target = OutputFile(path: file) { (try? InitialConfiguration($0))?.account == configuration.account }
        try target.write(Data(configuration.serialized))
        guard !target.isStandardOutput else { return }
        let authority = configuration.authority.absoluteString
        if output.json {
            try Console.json(Written(file: file, account: configuration.account, authority: authority, epoch: configuration.epoch))
        } else {
            Console.line("wrote \(file): account \(configuration.account), authority \(authority)")
        }
    }
}
