import ApproovRelay
import ApproovGateway
import ArgumentParser
import CertificatePinning
import Foundation
import HTTPServing
import HTTPClient
import Logging
import OHTTP
import ServiceLifecycle
import UnixSignals

/// `approov gateway`: the OHTTP gateway, which sees the request but not the client.
struct GatewayCommand: AsyncParsableCommand, LoggingCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Run an Oblivious HTTP gateway: it sees what is asked, not who asks.",
        discussion: """
            approov gateway --listen 0.0.0.0:8445 --tls-cert gw.pem --tls-key gw.key \\
                --keys /var/lib/approov/gateway.keys --allow https://api.example.com
            approov gateway --keys /var/lib/approov/gateway.keys --rotate

            Opens encapsulated requests (POST /gateway) and forwards them to the
            origins that are allowed, and to nothing else; redirects are not
            followed. GET /ohttp-keys is what clients seal with, GET /health
            answers 200; it speaks HTTP/1.1. Prints its URL on standard output when
            it is ready. SIGTERM and SIGINT let open requests end first.

            A request or answer may have 16 GiB in chunks, and --max-message whole.
            A request in chunks may take --request-timeout, a whole one no more than
            120 seconds of it; and either 60 without a byte of the origin's.

            A client, which is a relay, may have a quarter of the connections. Behind
            a balancer of your own all of them would be one: let it speak the PROXY
            protocol, and name it with --trusted-proxy.

            The key file (mode 0600) is made when there is none. --rotate makes a
            new key in it for each mechanism in use, or for --kem, which a running
            gateway takes up within a second; the old one is accepted for --overlap
            days more and then removed. Within that time give apps the new one:
            approov oblivious -set. Rotate once a month or so: a key that is gone
            opens nothing that was recorded. Clients take the first key that they
            know, X-Wing before X25519 before P-256. --kem with --only ends the
            keys of the other mechanisms, too, which older clients may need.

            A request is served once: its encapsulated key is remembered, for as
            long as its Date field is accepted (--replay-window), or for the life
            of its key when it has none. That takes 11 to 22 bytes of memory each.
            Once --remember is reached, requests without a Date are asked for one
            until the next --rotate is over its --overlap, and the log says so.
            After a restart the gateway knows nothing of requests without a Date;
            --require-date refuses them. Run one process: two do not know of each
            other's requests.

            What it counts (swift-metrics) is for programs that embed the library.
            """)

    /// The largest content of a message that fits into the relay's limit.
    ///
    /// The relay's limit also covers the head, the padding (a thirty-second at this size) and the encapsulation.
    static let largestMessage = RelayConfiguration.Limits().messageBytes - 1 << 20

    /// A key encapsulation mechanism, with its name on the command line.
    enum Mechanism: String, ExpressibleByArgument, CaseIterable {
        case x25519
        case p256
        case xWing = "x-wing"

        var kem: KeyConfiguration.KEM {
            switch self {
            case .x25519: .x25519
            case .p256: .p256
            case .xWing: .xWing
            }
        }

        init(_ kem: KeyConfiguration.KEM) {
            switch kem {
            case .x25519: self = .x25519
            case .p256: self = .p256
            case .xWing: self = .xWing
            }
        }
    }

    @Option(
        name: .long, help: ArgumentHelp("Where to listen; port 0 lets the system choose.", valueName: "host:port"),
        transform: ListenAddress.init(argument:))
    var listen: ListenAddress?

    @Option(name: .long, help: ArgumentHelp("The file with the gateway's keys.", valueName: "file"))
    var keys: String

    @Option(
        name: .long, parsing: .upToNextOption,
        help: ArgumentHelp("An origin that requests may be for: https://HOST[:PORT]; http on loopback. Repeatable.", valueName: "origin"))
    var allow: [String] = []

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("The roots to trust for the origins, PEM. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A pin of an origin's. Repeatable. Default: its certificate's path decides.", valueName: "host=sha256/…"))
    var pin: [String] = []

    @OptionGroup var tls: ServerTLSOptions
    @OptionGroup var logs: LogOptions

    @OptionGroup var proxies: TrustedProxyOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The largest message that is not in chunks; held in memory. At most \(largestMessage), what a relay takes. \
            Default: \(GatewayConfiguration.Limits().messageBytes).
            """, valueName: "bytes"))
    var maxMessage: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How long a request in chunks may take until its answer's end; a relay has such a limit, too. Default: \
            \(GatewayConfiguration.Limits().chunkedRequestTimeout.components.seconds).
            """, valueName: "seconds"))
    var requestTimeout: Int?

    @Option(name: .long, help: ArgumentHelp("How far a request's Date may be off. Default: 60.", valueName: "seconds"))
    var replayWindow: Int?

    @Flag(name: .long, help: "Refuse requests without a Date.")
    var requireDate = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How many requests are remembered, with and without a Date each. Default: \(GatewayConfiguration.Replay().rememberedDated) and \
            \(GatewayConfiguration.Replay().rememberedUndated).
            """, valueName: "n"))
    var remember: Int?

    @Flag(name: .long, help: "Make a new key, and end.")
    var rotate = false

    @Option(
        name: .long,
        help: """
            The mechanism of a key that is made. x-wing: for traffic that must outlive a quantum computer. Default: x25519; with --rotate, \
            each that is in use.
            """)
    var kem: Mechanism?

    @Flag(name: .long, help: "With --rotate and --kem: end the keys of other mechanisms, too.")
    var only = false

    @Option(
        name: .long,
        help: ArgumentHelp("With --rotate: how long the old key is accepted; 0 ends it at once. Default: 30.", valueName: "days"))
    var overlap: Double?

    @Flag(name: .long, help: "With --rotate: print the keys as JSON.")
    var json = false

    func validate() throws {
        guard !rotate else {
            guard listen == nil, allow.isEmpty, pin.isEmpty, tls.tlsCert == nil, tls.tlsKey == nil, caCert == nil, remember == nil,
                maxMessage == nil, requestTimeout == nil, replayWindow == nil, !requireDate, proxies.trustedProxy.isEmpty
            else {
                throw ValidationError("--rotate goes with --keys, --kem, --only and --overlap alone, and --json: it does not serve.")
            }
            guard !only || kem != nil else { throw ValidationError("--only goes with --kem, the mechanism whose keys stay.") }
            guard (0...366).contains(overlap ?? 0) else { throw ValidationError("--overlap must be 0 to 366 days.") }
            return
        }
        guard !only else { throw ValidationError("--only goes with --rotate.") }
        guard !json else { throw ValidationError("--json goes with --rotate.") }
        guard overlap == nil else { throw ValidationError("--overlap goes with --rotate.") }
        guard let listen else { throw ValidationError("--listen says where to serve; or make a new key with --rotate.") }
        guard !allow.isEmpty else { throw ValidationError("--allow names the origins that requests may be for, one at least.") }
        try tls.check(listen)
        guard (1_024...Self.largestMessage).contains(maxMessage ?? 1_024) else {
            throw ValidationError(
                """
                --max-message must be 1024 to \(Self.largestMessage) bytes: approov relay takes no larger ones that are not in chunks. \
                Clients send and get what is larger in chunks.
                """)
        }
        guard (1...86_400).contains(requestTimeout ?? 1) else { throw ValidationError("--request-timeout must be 1 to 86400 seconds.") }
        guard (1...86_400).contains(replayWindow ?? 1) else { throw ValidationError("--replay-window must be 1 to 86400 seconds.") }
        guard (1...100_000_000).contains(remember ?? 1) else { throw ValidationError("--remember must be 1 to 100000000 requests.") }
        for origin in allow {
            guard let url = try? TransportURL(origin), url.target == "/", url.isSecure || url.host.isLoopback else {
                throw ValidationError("--allow \(origin) is not an origin: write https://HOST[:PORT], or http on this machine.")
            }
        }
        _ = try pins()
    }

    func run() async throws {
        guard let listen, !rotate else { return try rotateKeys() }
        DescriptorLimit.raise()
        let logger = Logger(label: "approov.gateway")
        var replay = GatewayConfiguration.Replay()
        if let replayWindow { replay.window = .seconds(replayWindow) }
        replay.requiresDate = requireDate
        if let remember { (replay.rememberedDated, replay.rememberedUndated) = (remember, remember) }
        var limits = GatewayConfiguration.Limits()
        if let maxMessage { limits.messageBytes = maxMessage }
        if let requestTimeout {
            limits.chunkedRequestTimeout = .seconds(requestTimeout)
            limits.requestTimeout = min(limits.requestTimeout, limits.chunkedRequestTimeout)
        }
        let file = GatewayKeyFile(URL(filePath: keys))
        if !FileManager.default.fileExists(atPath: keys) {
            try Files.makePrivateFolder(of: keys)
            _ = try file.load(makingKeyFor: kem?.kem ?? .x25519)
            Console.note("approov: made \(keys), whose key opens every request: keep it to this machine")
        } else if let kem, !(try file.load().published.configurations.contains { $0.kem == kem.kem }) {
            throw CommandFailure(
                "--kem \(kem.rawValue): \(keys) has no such key in use, and serving makes none; "
                    + "make it with: approov gateway --keys \(keys) --rotate --kem \(kem.rawValue)")
        }
        var configuration = GatewayConfiguration(
            host: listen.host, port: listen.port, allowedOrigins: allow, pins: try pins(),
            trustRootsPEM: try caCert.map { try Files.text(at: $0, what: "the roots") },
            tls: try tls.files().map { .certificate(certificatePEM: $0.certificate, keyPEM: $0.key) } ?? .none, replay: replay,
            limits: limits)
        configuration.trustedProxies = proxies.trustedProxy
        let gateway = try Gateway(
            keys: file, configuration: configuration, logger: logger, onReady: { Console.line($0.absoluteString) })
        try await ServiceGroup(services: [gateway], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
    }

    private func rotateKeys() throws {
        let days = overlap ?? 30
        let now = try GatewayKeyFile(URL(filePath: keys))
            .rotate(kem: kem?.kem, endingOthers: only, overlap: .seconds(Int(days * 86_400)))
        // In the order in which clients choose.
        let published = now.published.configurations.map { Key($0, acceptedUntil: nil) }
        let ending = now.entries.compactMap { entry in entry.endsAt.map { Key(entry.key.configuration, acceptedUntil: $0) } }
        if json { return try Console.json(["keys": published + ending]) }
        for key in published + ending {
            Console.line("key \(key.id)  \(key.kem)  \(key.acceptedUntil.map { "accepted until \($0)" } ?? "in use")")
        }
    }

    /// A key, as `--json` prints it.
    private struct Key: Encodable {
        let id: UInt8
        let kem: String
        /// The time in RFC 3339 format; nil while the key is published.
        let acceptedUntil: String?

        init(_ key: KeyConfiguration, acceptedUntil: Date?) {
            id = key.id
            kem = Mechanism(key.kem).rawValue
            self.acceptedUntil = acceptedUntil?.formatted(.iso8601)
        }
    }

    private func pins() throws -> [String: [String]] {
        try pin.reduce(into: [:]) { pins, text in
            // Split at the first "=": a pin's base64 may end in one, a host has none.
            guard let equals = text.firstIndex(of: "="), let host = try? CanonicalHost(String(text[..<equals])),
                let pin = try? Pin(String(text[text.index(after: equals)...]))
            else { throw ValidationError("--pin must be HOST=sha256/ and the base64 of 32 bytes.") }
            pins[host.name, default: []].append(pin.description)
        }
    }
}
