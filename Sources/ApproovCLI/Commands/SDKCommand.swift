import ApproovAuthority
import ArgumentParser
import Attestation
import Foundation

/// `approov sdk`: the initial configuration that apps ship with, and the keys that they trust.
struct SDKCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sdk",
        abstract: "Write the initial configuration that an app ships with, or renew the key that it believes.",
        discussion: """
            approov sdk -getConfig approov-initial.config
                It names the authority with its pins and the keys that sign
                configurations; nothing in it is secret. The authority must have
                run once, so that its URL and pins are known.
            approov sdk -rotateConfigKey
                Makes a new key that signs configurations. Old and new key sign
                the change, and running apps follow it by themselves.
            approov sdk -rotateServerKey
                Puts the backup key of the store's own making in the place of the
                authority's TLS key, and makes a new backup. Start the authority
                again; apps know the backup key, and fetch the new pins from it.
            approov sdk -newEpoch [--epoch N] --yes
                After the key was stolen, or a store came back from an old
                backup: a new key, a higher epoch, version 1. Running apps keep
                the pins they have and take nothing more up until they are
                shipped a new initial configuration.

            Examples:
            approov sdk -getConfig approov-initial.config
            approov sdk -rotateConfigKey
            approov sdk -newEpoch --yes
            """)

    @Option(name: .dash("getConfig"), help: ArgumentHelp("Write the initial configuration.", valueName: "file"))
    var getConfig: String?

    @Flag(name: .dash("rotateConfigKey"), help: "Replace the key that signs configurations; running apps follow.")
    var rotateConfigKey = false

    @Flag(name: .dash("rotateServerKey"), help: "Replace the authority's TLS key by its backup; running apps follow.")
    var rotateServerKey = false

    @Flag(name: .dash("newEpoch"), help: "Begin a new epoch of configurations; running apps need a new initial configuration.")
    var newEpoch = false

    @Option(name: .long, help: ArgumentHelp("With -getConfig: the authority's URL, in place of the one last served.", valueName: "url"))
    var authority: String?

    @Option(name: .long, help: ArgumentHelp("With -newEpoch: the epoch's number. Default: the next one.", valueName: "number"))
    var epoch: Int64?

    @Flag(name: .long, help: "With -newEpoch: yes, running apps may be left behind.")
    var yes = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard [getConfig != nil, rotateConfigKey, rotateServerKey, newEpoch].filter({ $0 }).count == 1 else {
            throw ValidationError("Give one of -getConfig, -rotateConfigKey, -rotateServerKey and -newEpoch.")
        }
        if authority != nil, getConfig == nil { throw ValidationError("--authority goes with -getConfig.") }
        if !newEpoch, epoch != nil || yes { throw ValidationError("--epoch and --yes go with -newEpoch.") }
        if newEpoch, !yes {
            throw ValidationError("-newEpoch leaves running apps behind until they ship a new initial configuration: add --yes to do it.")
        }
        if let authority, URL(string: authority)?.scheme != "https" { throw ValidationError("--authority is not an https URL.") }
    }

    func run() async throws {
        let store = try store.open(getConfig == nil ? .changing : .reading)
        if let getConfig {
            try await write(to: getConfig, from: store)
        } else if rotateConfigKey {
            try await store.rotateConfigurationKey()
            try report(
                "changed the key that signs configurations; apps follow by themselves. Ship new apps with: approov sdk -getConfig FILE",
                store)
        } else if rotateServerKey {
            let pins = try await store.rotateServerKey().pins
            try report(
                "replaced the authority's TLS key by its backup; start the authority again. Its pins then: "
                    + pins.joined(separator: " "), store)
        } else {
            try await store.startEpoch(epoch)
            try report("began a new epoch with another key; give every app a new initial configuration: approov sdk -getConfig FILE", store)
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

    private func write(to file: String, from store: AuthorityStore) async throws {
        let configuration = try await store.initialConfiguration(authority: authority.flatMap { URL(string: $0) })
        do {
            try Data(configuration.serialized).write(to: URL(filePath: file), options: .atomic)
        } catch {
            throw CommandFailure("\(file) cannot be written: \(error.localizedDescription)")
        }
        let authority = configuration.authority.absoluteString
        if output.json {
            try Console.json(Written(file: file, account: configuration.account, authority: authority, epoch: configuration.epoch))
        } else {
            Console.line("wrote \(file): account \(configuration.account), authority \(authority)")
        }
    }
}
