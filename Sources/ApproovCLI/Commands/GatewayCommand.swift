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
        abstract: "Run an Oblivious HTTP gateway: it sees the request, but not the client's address.",
        discussion: """
            approov gateway --listen 0.0.0.0:8445 --tls-cert gw.pem --tls-key gw.key \\
                --keys /var/lib/approov-gateway/keys --allow https://api.example.com
            approov gateway --keys /var/lib/approov-gateway/keys --rotate

            Opens encapsulated requests (POST /gateway) and forwards them only to
            the origins of --allow; it does not follow redirects. GET /ohttp-keys
            returns the keys that clients seal with, GET /health answers 200. It
            speaks HTTP/1.1. Prints its URL on standard output when it is ready.
            SIGTERM and SIGINT let open requests go on for up to 8 seconds.

            A request or response may be up to 16 GiB in chunks, or --max-message
            bytes if sent whole. A request in chunks may take --request-timeout
            seconds, a whole one 120. Both end when the origin sends nothing for 60
            seconds.

            A client, here a relay, may hold a quarter of the connections, and
            three quarters of the 1024 requests that may be open at once
            (--requests-per-client). So a single relay can use most of the gateway,
            but no address can keep all others out. Give each a smaller share if
            the gateway has several relays. Behind your own balancer all clients
            count as one: let the balancer speak the PROXY protocol, and name it
            with --trusted-proxy.

            If there is no key file, the gateway makes one (mode 0600). --rotate
            adds a new key for each mechanism in use, or only for --kem. A running
            gateway uses it within a second; it accepts the old key for --overlap
            more days and then removes it. Within that time give apps the new key:
            approov oblivious -set. --overlap 0 needs --yes. Rotate about once a
            month: when a key is gone, recorded requests that were sealed to it can
            no longer be opened. Clients prefer X-Wing to X25519, and X25519 to
            P-256. --kem with --only also ends the keys of the other mechanisms,
            which older clients may need.

            The gateway serves each request once: it remembers the request's
            encapsulated key for as long as it accepts the request's Date
            (--replay-window), or, without a Date, for the life of the gateway's
            key. Each request takes 11 to 22 bytes of memory. When --remember is
            reached, the gateway logs it and refuses requests without a Date for as
            long as it accepts their key. After a restart the gateway no longer
            knows earlier requests without a Date; --require-date refuses such
            requests. When it stops, it writes FILE.seen beside the keys: the
            earliest date that it accepts, and a part of a hash of each request with
            a date. The next start removes the file, and goes on from there if the
            gateway was stopped for at most 30 seconds; after a longer stop it
            accepts no date up to its start, so for a while POSTs of devices with
            slow clocks fail. A gateway that is killed writes no such file: the next
            one accepts no date up to its start, and requests dated ahead of the
            clock can then be replayed.

            Two gateways do not know each other's requests, so only one may serve
            with a key file. It locks FILE.serving, which stays beside the keys. A
            second one waits about 10 seconds for the first to end, and then fails:
            stop the first, or give the second its own --keys.

            Metrics (swift-metrics) are only for programs that embed the library.
            """)

    /// The largest content of a message that fits into the relay's limit.
    ///
    /// The relay's limit also covers the head, the padding (a thirty-second at this size) and the encapsulation.
    static let largestMessage = RelayConfiguration.Limits().messageBytes - 1 << 20
    /// How many days a replaced key is still accepted by default.
    private static let standardOverlap: Double = 30

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
        name: .long, help: ArgumentHelp("The address to listen on; port 0 lets the system choose one.", valueName: "host:port"),
        transform: ListenAddress.init(argument:))
    var listen: ListenAddress?

    @Option(
        name: .long, help: ArgumentHelp("The file of the gateway's keys. If it does not exist, the gateway makes it.", valueName: "file"))
    var keys: String

    @Option(
        name: .long, parsing: .upToNextOption,
        help: ArgumentHelp("An origin to forward to: https://HOST[:PORT], or http on loopback. Repeatable.", valueName: "origin"))
    var allow: [String] = []

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("PEM roots to trust for the origins. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .long,
        help: ArgumentHelp("A pin of an origin's key. Repeatable. Default: path validation alone.", valueName: "host=sha256/…"))
    var pin: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How many requests one address may have open at once; the gateway answers 503 to further ones. A relay counts as one address. \
            Default: \(GatewayConfiguration.Limits().requests * 3 / 4), three quarters of all.
            """, valueName: "n"))
    var requestsPerClient: Int?

    @OptionGroup var tls: ServerTLSOptions
    @OptionGroup var logs: LogOptions

    @OptionGroup var proxies: TrustedProxyOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The largest message, in bytes, that is not in chunks; it is held in memory. At most \(largestMessage), which fits the relay. \
            Default: \(GatewayConfiguration.Limits().messageBytes).
            """, valueName: "bytes"))
    var maxMessage: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How many seconds a request in chunks may take until its response ends; the relay has the same option. Default: \
            \(GatewayConfiguration.Limits().chunkedRequestTimeout.components.seconds).
            """, valueName: "seconds"), transform: TimeSpan.readSeconds)
    var requestTimeout: Int?

    @Option(
        name: .long,
        help: ArgumentHelp("How many seconds old a request's Date may be. Default: 60.", valueName: "seconds"),
        transform: TimeSpan.readSeconds)
    var replayWindow: Int?

    @Flag(name: .long, help: "Refuse requests without a Date.")
    var requireDate = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How many requests to remember with a Date, and how many without one. Default: \
            \(GatewayConfiguration.Replay().rememberedDated) with and \(GatewayConfiguration.Replay().rememberedUndated) without.
            """, valueName: "n"))
    var remember: Int?

    @Flag(name: .long, help: "Make a new key and exit.")
    var rotate = false

    @Option(
        name: .long,
        help: """
            The mechanism of the new key. x-wing resists quantum computers. Default: x25519; with --rotate, every mechanism in use.
            """)
    var kem: Mechanism?

    @Flag(name: .long, help: "With --rotate and --kem: also end the keys of other mechanisms.")
    var only = false

    @Option(
        name: .long,
        help: ArgumentHelp("With --rotate: how many days the old key is still accepted; 0 ends it at once. Default: 30.", valueName: "days")
    )
    var overlap: Double?

    @Flag(name: .long, help: "With --overlap 0: confirm it.")
    var yes = false

    @Flag(name: .long, help: "With --rotate: print the keys as JSON.")
    var json = false

    func validate() throws {
        guard !rotate else {
            guard listen == nil, allow.isEmpty, pin.isEmpty, tls.tlsCert == nil, tls.tlsKey == nil, caCert == nil, remember == nil,
                maxMessage == nil, requestTimeout == nil, requestsPerClient == nil, replayWindow == nil, !requireDate,
                proxies.trustedProxy.isEmpty
            else {
                throw ValidationError("--rotate does not serve: it is only valid with --keys, --kem, --only, --overlap, --yes and --json.")
            }
            guard !only || kem != nil else { throw ValidationError("--only needs --kem, which names the mechanism whose keys stay.") }
            guard (0...366).contains(overlapDays) else { throw ValidationError("--overlap must be 0 to 366 days.") }
            guard endsAtOnce || !yes else { throw ValidationError("--yes is only valid with --overlap 0.") }
            guard !endsAtOnce || yes else {
                throw ValidationError(
                    "With --overlap 0 the gateway refuses the old keys at once: every request fails until its app has the new key "
                        + "(approov oblivious -set). Without it, the old keys stay for 30 days. Add --yes to do it.")
            }
            return
        }
        guard !only else { throw ValidationError("--only is only valid with --rotate.") }
        guard !json else { throw ValidationError("--json is only valid with --rotate.") }
        guard !yes else { throw ValidationError("--yes is only valid with --rotate and --overlap 0.") }
        guard overlap == nil else { throw ValidationError("--overlap is only valid with --rotate.") }
        guard let listen else { throw ValidationError("Give --listen HOST:PORT to serve, or --rotate to make a new key.") }
        guard !allow.isEmpty else { throw ValidationError("Give --allow with at least one origin to forward to.") }
        try tls.check(listen)
        guard (1_024...Self.largestMessage).contains(maxMessage ?? 1_024) else {
            throw ValidationError(
                """
                --max-message must be 1024 to \(Self.largestMessage) bytes, because approov relay accepts larger messages only in chunks. \
                Clients send and receive larger messages in chunks.
                """)
        }
        guard (1...1_000_000).contains(requestsPerClient ?? 1) else { throw ValidationError("--requests-per-client must be 1 to 1000000.") }
        guard (1...86_400).contains(requestTimeout ?? 1) else { throw ValidationError("--request-timeout must be 1 to 86400 seconds.") }
        guard (1...86_400).contains(replayWindow ?? 1) else { throw ValidationError("--replay-window must be 1 to 86400 seconds.") }
        guard (1...100_000_000).contains(remember ?? 1) else { throw ValidationError("--remember must be 1 to 100000000 requests.") }
        var hosts: Set<String> = []
        for origin in allow {
            guard let url = try? TransportURL(origin), url.target == "/", !origin.contains("#"), url.isSecure || url.host.isLoopback else {
                throw ValidationError(
                    "--allow \(Console.withoutSecrets(origin)) is not an origin: write https://HOST[:PORT], or http:// with a loopback address."
                )
            }
            if url.isSecure { hosts.insert(url.host.name) }
        }
        for (host, pins) in try pins().sorted(by: { $0.key < $1.key }) {
            guard hosts.contains(host) else {
                throw ValidationError("--pin names \(host), but no --allow has an https origin of this host: add --allow https://\(host).")
            }
            guard Set(pins).count == pins.count else { throw ValidationError("--pin gives a pin of \(host) twice: give it once.") }
        }
    }

    func run() async throws {
        guard let listen, !rotate else { return try rotateKeys() }
        DescriptorLimit.raise()
        let logger = Logger(label: "approov.gateway")
        let remarks = Remarks(logs, logger)
        var replay = GatewayConfiguration.Replay()
        if let replayWindow { replay.window = .seconds(replayWindow) }
        replay.requiresDate = requireDate
        if let remember { (replay.rememberedDated, replay.rememberedUndated) = (remember, remember) }
        var limits = GatewayConfiguration.Limits()
        if let maxMessage { limits.messageBytes = maxMessage }
        if let requestsPerClient { limits.requestsPerClient = requestsPerClient }
        if let requestTimeout {
            limits.chunkedRequestTimeout = .seconds(requestTimeout)
            limits.requestTimeout = min(limits.requestTimeout, limits.chunkedRequestTimeout)
        }
        var configuration = GatewayConfiguration(
            host: listen.host, port: listen.port, allowedOrigins: allow, pins: try pins(),
            trustRootsPEM: try caCert.map { try Files.roots(at: $0).pem },
            tls: try tls.files(remarks).map { .certificate(certificatePEM: $0.certificate, keyPEM: $0.key) } ?? .none, replay: replay,
            limits: limits)
        configuration.trustedProxies = proxies.trustedProxy
        let file = GatewayKeyFile(URL(filePath: keys))
        if !FileManager.default.fileExists(atPath: keys) {
            // All else is checked by now: a gateway that cannot start must not make a key.
            try listen.checkThatItCanBeBound()
            try Files.makePrivateFolder(of: keys)
            _ = try file.load(makingKeyFor: kem?.kem ?? .x25519)
            remarks.note("made \(keys); its key opens every request: never copy it to another machine")
        } else if let kem, !(try file.load().published.configurations.contains { $0.kem == kem.kem }) {
            throw CommandFailure(
                "--kem \(kem.rawValue): \(keys) has no key of this mechanism in use; "
                    + "make one: approov gateway --keys \(keys) --rotate --kem \(kem.rawValue)")
        }
        let gateway = try Gateway(
            keys: file, configuration: configuration, logger: logger, onReady: { Console.line($0.absoluteString) })
        try await ServiceGroup(services: [gateway], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
    }

    private var overlapDays: Double { overlap ?? Self.standardOverlap }

    private var overlapSeconds: Int { Int(overlapDays * 86_400) }

    /// Whether the old keys end with the rotation.
    private var endsAtOnce: Bool { overlapSeconds == 0 }

    private func rotateKeys() throws {
        let now = try GatewayKeyFile(URL(filePath: keys))
            .rotate(kem: kem?.kem, endingOthers: only, overlap: .seconds(overlapSeconds))
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
            else {
                throw ValidationError("--pin must be HOST=sha256/ followed by the base64 of 32 bytes; approov pin -get HOST prints it.")
            }
            pins[host.name, default: []].append(pin.description)
        }
    }
}
