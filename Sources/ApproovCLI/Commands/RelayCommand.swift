import ApproovRelay
import ArgumentParser
import CertificatePinning
import Foundation
import HTTPServing
import HTTPClient
import Logging
import ServiceLifecycle
import UnixSignals

/// `approov relay`: the OHTTP relay, which sees the client but not the request.
struct RelayCommand: AsyncParsableCommand, LoggingCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay",
        abstract: "Run an Oblivious HTTP relay: it sees who asks, not what.",
        discussion: """
            approov relay --listen 0.0.0.0:8444 --tls-cert relay.pem --tls-key relay.key \\
                --gateway https://gateway.example.com:8445/gateway

            Forwards encapsulated requests (POST /) to one gateway, each of them
            once and without anything that tells one client from another; it
            cannot read them. Whole ones may have 16 MiB, those in chunks 16 GiB,
            and so may their answers. All of an exchange may take --request-timeout,
            and 60 seconds without a byte of the gateway's; 30 without one of the
            client's. GET /health answers 200. It speaks HTTP/1.1. Prints its URL on
            standard output when it is ready. SIGTERM and SIGINT let open requests
            end first.

            A client (an address, or a /64 of IPv6) may have a quarter of the
            connections. Behind a balancer of your own all clients would be one: let
            it speak the PROXY protocol, and name it with --trusted-proxy.

            Relay and gateway must be run by different people: together they see
            who asks what.

            What it counts (swift-metrics) is for programs that embed the library.
            """)

    @Option(
        name: .long, help: ArgumentHelp("Where to listen; port 0 lets the system choose.", valueName: "host:port"),
        transform: ListenAddress.init(argument:))
    var listen: ListenAddress

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where encapsulated requests go: https, or http on loopback. Without a path: /gateway.", valueName: "url"))
    var gateway: String

    @Option(
        name: .long,
        help: ArgumentHelp("A pin of the gateway's. Repeatable. Default: its certificate's path decides.", valueName: "sha256/…"))
    var pin: [String] = []

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("The roots to trust for the gateway, PEM. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Requests at once from one address; one more is answered 429. Raise it where many people share an address, or where a proxy \
            stands before the relay. Default: \(RelayConfiguration.Limits().requestsPerClient).
            """, valueName: "n"))
    var requestsPerClient: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How long an exchange may take, from the request's head to its answer's end. Raise it for large messages over slow lines, and \
            for answers that go on and on. Default: \(RelayConfiguration.Limits().requestTimeout.components.seconds).
            """, valueName: "seconds"))
    var requestTimeout: Int?

    @OptionGroup var tls: ServerTLSOptions
    @OptionGroup var logs: LogOptions

    @OptionGroup var proxies: TrustedProxyOptions

    func validate() throws {
        try tls.check(listen)
        let url = try ServerOptions.url(gateway, of: "--gateway", such: "https://gateway.example.com/gateway")
        guard (1...1_000_000).contains(requestsPerClient ?? 1) else { throw ValidationError("--requests-per-client must be 1 to 1000000.") }
        guard (1...86_400).contains(requestTimeout ?? 1) else { throw ValidationError("--request-timeout must be 1 to 86400 seconds.") }
        if !url.isSecure, !pin.isEmpty || caCert != nil { throw ValidationError("--pin and --cacert are for a gateway with https.") }
        try ServerOptions.check(pins: pin)
    }

    func run() async throws {
        DescriptorLimit.raise()
        let logger = Logger(label: "approov.relay")
        var limits = RelayConfiguration.Limits()
        if let requestsPerClient { limits.requestsPerClient = requestsPerClient }
        if let requestTimeout { limits.requestTimeout = .seconds(requestTimeout) }
        var configuration = RelayConfiguration(
            host: listen.host, port: listen.port, gateway: gateway, gatewayPins: pin,
            gatewayTrustRootsPEM: try caCert.map { try Files.text(at: $0, what: "the roots") },
            tls: try tls.files().map { .certificate(certificatePEM: $0.certificate, keyPEM: $0.key) } ?? .none, limits: limits)
        configuration.trustedProxies = proxies.trustedProxy
        let relay = try Relay(configuration: configuration, logger: logger, onReady: { Console.line($0.absoluteString) })
        try await ServiceGroup(services: [relay], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
    }
}
