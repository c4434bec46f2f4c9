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
        abstract: "Set, show or remove the relay and the gateway's keys for oblivious hosts.",
        discussion: """
            approov oblivious -set -relay https://relay.example.com/ -keyConfig https://gateway.example.com/ohttp-keys
            approov oblivious -show [--offline] [--json]
            approov oblivious -remove

            Then: approov api -pins HOST -oblivious, or -add HOST -oblivious …
            Apps get relay and keys with the signed configuration and use no
            others. After `approov gateway --rotate`, -set the keys again before
            the --overlap ends.

            -show also asks the gateway, through the relay as an app does, whether
            it accepts the key that apps use. If it does not, or does not answer,
            -show says what to do and exits 1. --offline skips that question.
            `approov api -check` asks it for an oblivious host. Neither shows whether
            the gateway forwards to a host: `approov call` does. When no relay is
            set, -show exits 1; with --json it prints {} and exits 0.

            The owner of the keys can read the requests: fetch the keys from a
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

    @Flag(name: .dash("set"), help: "Set the relay and the gateway's keys.")
    var set = false

    @Flag(name: .dash("show"), help: "Show the relay and the keys.")
    var show = false

    @Flag(name: .dash("remove"), help: "Remove relay and keys. Fails while a host is oblivious.")
    var remove = false

    @Option(
        name: .dash("relay"),
        help: ArgumentHelp("With -set: the relay's https URL.", valueName: "url"))
    var relay: String?

    @Option(
        name: .dash("keyConfig"),
        help: ArgumentHelp(
            "With -set: the gateway's application/ohttp-keys, a file or an https URL (http on loopback).", valueName: "file|url"))
    var keyConfig: String?

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("With -set: PEM roots to trust for the URL of -keyConfig. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .dash("chunked"),
        help: """
            With -set: whether messages travel in chunks, up to 16 GiB each. on: always, for a gateway that understands chunks; off: \
            never, for a gateway that implements only RFC 9458; auto: once apps have found that the gateway understands chunks, which \
            they ask before the first large or streamed request. Default: as it was set before, at first auto.
            """)
    var chunked: Chunking?

    @Flag(name: .long, help: "With -show: do not ask the gateway whether it accepts the key.")
    var offline = false

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        try OneOf.check(["-set": set, "-show": show, "-remove": remove])
        if set {
            guard relay != nil, keyConfig != nil else { throw ValidationError("-set needs -relay and -keyConfig.") }
        } else if relay != nil || keyConfig != nil || chunked != nil || caCert != nil {
            throw ValidationError("-relay, -keyConfig, -chunked and --cacert are only valid with -set.")
        }
        if caCert != nil, let keyConfig, !KeyConfigurationSource(keyConfig, of: "-keyConfig").isURL {
            throw ValidationError("--cacert is only valid if -keyConfig is a URL: a file is read without TLS.")
        }
        if offline, !show { throw ValidationError("--offline is only valid with -show.") }
        if let relay, (try? TransportURL(relay))?.isSecure != true {
            throw ValidationError(
                "-relay must be an https URL, because apps on all machines get it. For http on loopback use approov call --relay."
            )
        }
    }

    func run() async throws {
        if set, let relay, let keyConfig {
            let keys = try await KeyConfigurationSource(keyConfig, of: "-keyConfig").read(trusting: Files.anchors(at: caCert))
            var settings = ObliviousSettings(relay: relay, keyConfig: Base64.encode(keys), chunked: chunked?.setting)
            // Check the keys before opening the store: a mistake must not make one.
            try AuthorityStore.checkOblivious(settings, checkedBy: KeyConfigurationList.checked(published:))
            let store = try store.open(.making)
            if chunked == nil { settings.chunked = store.obliviousSettings?.chunked }
            try await store.setOblivious(settings, checkedBy: KeyConfigurationList.checked(published:))
            try report("set", in: store)
            RelayPins.noteIfMissing(in: store)
        } else if remove {
            let store = try store.open(.changing)
            guard store.obliviousSettings != nil else { throw CommandFailure("no relay is set, so there is none to remove") }
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
            throw CommandFailure("no relay is set; set one: approov oblivious -set -relay URL -keyConfig FILE|URL")
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
        // All is printed: only the exit code tells a script.
        if let check, check.outcome != .accepted { throw CommandFailure(nil) }
    }
}
