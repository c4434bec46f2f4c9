import ApproovBase
import ApproovAuthority
import ArgumentParser
import Attestation
import CertificatePinning
import HTTPClient
import OHTTP

/// `approov oblivious`: the relay and the gateway's keys of oblivious hosts.
struct ObliviousCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "oblivious",
        abstract: "Name the relay and the gateway's keys for hosts that are reached through Oblivious HTTP.",
        discussion: """
            approov oblivious -set -relay https://relay.example.com/ -keyConfig https://gateway.example.com/ohttp-keys
            approov oblivious -show [--offline] [--json]
            approov oblivious -remove

            Then: approov api -pins HOST -oblivious, or -add HOST -oblivious …
            Apps get relay and keys with the signed configuration and use no
            others. After the gateway's keys were rotated, -set them again: it
            accepts the old ones for as long as `approov gateway` says.
            -show also asks the gateway, through the relay as an app does, whether it
            accepts the key that apps use, and says what to do if it does not; so
            does approov api -check for an oblivious host. --offline leaves that
            out. Without anything to show, -show fails; with --json it prints {}.

            Who chooses the keys can read the requests: fetch them from a
            gateway that you trust.
            """)

    /// Whether messages travel in chunks.
    enum Chunking: String, ExpressibleByArgument, CaseIterable {
        case on, off, auto

        var setting: Bool? {
            switch self {
            case .on: true
            case .off: false
            case .auto: nil
            }
        }

        init(_ setting: Bool?) {
            switch setting {
            case true?: self = .on
            case false?: self = .off
            case nil: self = .auto
            }
        }
    }

    @Flag(name: .dash("set"), help: "Set relay and keys.")
    var set = false

    @Flag(name: .dash("show"), help: "Show what is set.")
    var show = false

    @Flag(name: .dash("remove"), help: "Remove relay and keys; no host may be oblivious then.")
    var remove = false

    @Option(
        name: .dash("relay"),
        help: ArgumentHelp("With -set: the relay's https URL; plain http is for call --relay alone.", valueName: "url"))
    var relay: String?

    @Option(
        name: .dash("keyConfig"),
        help: ArgumentHelp("With -set: the gateway's application/ohttp-keys, a file or an https URL.", valueName: "file|url"))
    var keyConfig: String?

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("With -set: the roots to trust for the URL of -keyConfig, PEM. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .dash("chunked"),
        help: """
            With -set: whether messages travel in chunks, which lets them be of any size. on: all, for a gateway that is known to \
            understand them; off: none, for one that knows RFC 9458 alone; auto, the default: all, once the gateway \
            was found to understand them, which it is asked before the first request that is large or streamed.
            """)
    var chunked: Chunking?

    @Flag(name: .long, help: "With -show: do not ask the gateway whether it accepts the key.")
    var offline = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard [set, show, remove].filter({ $0 }).count == 1 else { throw ValidationError("Give one of -set, -show and -remove.") }
        if set {
            guard relay != nil, keyConfig != nil else { throw ValidationError("-set needs -relay and -keyConfig.") }
        } else if relay != nil || keyConfig != nil || chunked != nil || caCert != nil {
            throw ValidationError("-relay, -keyConfig, -chunked and --cacert go with -set.")
        }
        if offline, !show { throw ValidationError("--offline goes with -show.") }
        if let relay, (try? TransportURL(relay))?.isSecure != true {
            throw ValidationError("-relay must be an https URL: every app gets it. A relay on this machine is for: approov call --relay.")
        }
    }

    func run() async throws {
        if set, let relay, let keyConfig {
            let keys = try await KeyConfigurationSource(keyConfig).read(trusting: Files.anchors(at: caCert))
            let store = try store.open(.making)
            try await store.setOblivious(
                ObliviousSettings(relay: relay, keyConfig: Base64.encode(keys), chunked: (chunked ?? .auto).setting),
                checkedBy: KeyConfigurationList.checked(published:))
            try report("set", in: store)
            let host = try TransportURL(relay).host.name
            if try store.host(for: host) == nil {
                Console.note("approov: \(host) has no pins; to pin the relay: approov api -add \(host) -noApproovToken -pin …")
            }
        } else if remove {
            let store = try store.open(.changing)
            try await store.removeOblivious()
            try report("removed", in: store)
        } else {
            try await showSettings(of: store.open(.reading))
        }
    }

    private struct Change: Encodable {
        let change: String
        let configurationVersion: Int64
    }

    private func report(_ change: String, in store: AuthorityStore) throws {
        if output.json {
            try Console.json(Change(change: change, configurationVersion: store.configurationVersion))
        } else {
            Console.line("\(change); the configuration is now version \(store.configurationVersion)")
        }
    }

    private struct Settings: Encodable {
        struct Key: Encodable {
            let id: UInt8
            let kem: String
        }

        let relay: String
        let chunked: String
        let keyConfig: String
        let keys: [Key]
        /// The gateway's answer about the key; nil with --offline.
        let check: PublishedKeyCheck.Report?
    }

    /// The empty object that `--json` prints when no relay is set.
    private struct Nothing: Encodable {}

    private func showSettings(of store: AuthorityStore) async throws {
        guard let settings = store.obliviousSettings else {
            if output.json { return try Console.json(Nothing()) }
            throw CommandFailure("no relay is set; set one with: approov oblivious -set -relay URL -keyConfig FILE|URL")
        }
        let list = try KeyConfigurationList(decoding: Base64.decode(settings.keyConfig) ?? [])
        let keys = list.configurations.map { Settings.Key(id: $0.id, kem: GatewayCommand.Mechanism($0.kem).rawValue) }
        let chunked = Chunking(settings.chunked).rawValue
        let check = offline ? nil : try await PublishedKeyCheck(store)?.run()
        if output.json {
            try Console.json(Settings(relay: settings.relay, chunked: chunked, keyConfig: settings.keyConfig, keys: keys, check: check))
        } else {
            Console.line("relay      \(settings.relay)")
            Console.line("chunked    \(chunked)")
            for key in keys { Console.line("key \(key.id)  \(key.kem)") }
            if let check { Console.line("check      \(check.message ?? "the gateway accepts the key that apps use")") }
        }
    }
}
