import ApproovServer
import ArgumentParser
import Attestation
import CertificatePinning
import Foundation

/// `approov api`: the hosts that the account protects.
struct APICommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Add, change, list and remove the hosts that the account protects.",
        discussion: """
            approov api -add HOST -pinFrom server.pem -pin sha256/…
            approov api -pins HOST -pin sha256/… -pin sha256/…
            approov api -list [--json]
            approov api -remove HOST

            A host has two pins at least: its server's and that of a backup key.
            A pin is sha256/ and the base64 of the SHA-256 of a public key; see
            `approov pin -get`. Running authorities take a change up within a
            second, apps with their next attestation.
            """)

    @Option(name: .dash("add"), help: ArgumentHelp("Protect a host, or replace what is known of it.", valueName: "host"))
    var add: String?

    @Option(name: .dash("remove"), help: ArgumentHelp("Stop protecting a host.", valueName: "host"))
    var remove: String?

    @Flag(name: .dash("list"), help: "List the hosts.")
    var list = false

    @Option(name: .dash("pins"), help: ArgumentHelp("Replace a host's pins; without a pin given, show them.", valueName: "host"))
    var pins: String?

    @Option(name: .dash("pin"), help: ArgumentHelp("A pin. Can be given several times.", valueName: "sha256/…"))
    var pin: [String] = []

    @Option(
        name: .dash("pinFrom"),
        help: ArgumentHelp("Pin the key in a file: certificate, CSR, public or private key, PEM or DER.", valueName: "file"))
    var pinFrom: [String] = []

    @Option(name: .dash("keySetKID"), help: ArgumentHelp("With -add: sign tokens with this keyset.", valueName: "kid"))
    var keySetKID: String?

    @Flag(name: .dash("noApproovToken"), help: "With -add: pin the host, but give it no tokens.")
    var noApproovToken = false

    @Flag(name: .dash("includeSubdomains"), help: "With -add: the settings hold for all subdomains too.")
    var includeSubdomains = false

    @Option(name: .dash("trustRoots"), help: ArgumentHelp("With -add: PEM roots in place of the system's.", valueName: "file"))
    var trustRoots: String?

    @OptionGroup var store: StoreOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        let actions = [add != nil, remove != nil, list, pins != nil].filter { $0 }.count
        guard actions == 1 else { throw ValidationError("Give one of -add, -remove, -list and -pins.") }
        if add == nil, keySetKID != nil || noApproovToken || includeSubdomains || trustRoots != nil {
            throw ValidationError("-keySetKID, -noApproovToken, -includeSubdomains and -trustRoots go with -add.")
        }
        if add == nil, pins == nil, !pin.isEmpty || !pinFrom.isEmpty {
            throw ValidationError("-pin and -pinFrom go with -add and -pins.")
        }
    }

    func run() async throws {
        let store = try store.open()
        if let add {
            let settings = HostSettings(
                pins: try allPins(), attested: !noApproovToken, includeSubdomains: includeSubdomains,
                trustRoots: try trustRoots.map { try Files.text(at: $0, what: "the roots") }, kid: keySetKID)
            try await store.addHost(add, settings: settings)
            try report("added", host: add, in: store)
        } else if let remove {
            try await store.removeHost(remove)
            try report("removed", host: remove, in: store)
        } else if let pins {
            let new = try allPins()
            guard !new.isEmpty else { return try show(hosts: [host(pins, in: store)]) }
            try await store.setPins(new, forHost: pins)
            try report("changed", host: pins, in: store)
        } else {
            try show(hosts: store.hosts)
        }
    }

    private func allPins() throws -> [String] {
        try pin.map { try Pin($0).description } + pinFrom.flatMap { try PublicKeyFile.pins(inFile: $0).map(\.description) }
    }

    private func host(_ name: String, in store: AuthorityStore) throws -> AccountHost {
        guard let host = try store.host(for: name) else {
            throw CommandFailure("the account has no host \(name): add it with approov api -add \(name)")
        }
        return host
    }

    private struct Change: Encodable {
        let host: String
        let change: String
        let configurationVersion: Int64
    }

    private func report(_ change: String, host: String, in store: AuthorityStore) throws {
        let version = store.configurationVersion
        if output.json {
            try Console.json(Change(host: host, change: change, configurationVersion: version))
        } else {
            Console.line("\(change) \(host); the configuration is now version \(version)")
        }
    }

    private struct Host: Encodable {
        let host: String
        let pins: [String]
        let attested: Bool
        let includeSubdomains: Bool
        let kid: String?
    }

    private func show(hosts: [AccountHost]) throws {
        if output.json {
            return try Console.json(
                hosts.map {
                    Host(
                        host: $0.name, pins: $0.settings.pins, attested: $0.settings.attested,
                        includeSubdomains: $0.settings.includeSubdomains, kid: $0.settings.kid)
                })
        }
        for host in hosts {
            var remarks = [host.settings.attested ? "attested" : "pinned only"]
            if host.settings.includeSubdomains { remarks.append("with subdomains") }
            if let kid = host.settings.kid { remarks.append("keyset \(kid)") }
            Console.line("\(host.name)  (\(remarks.joined(separator: ", ")))")
            for pin in host.settings.pins { Console.line("    \(pin)") }
        }
    }
}
