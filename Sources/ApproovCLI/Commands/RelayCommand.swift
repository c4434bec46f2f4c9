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
        abstract: "Run an Oblivious HTTP relay: it sees the client's address, but not the request.",
        discussion: """
            approov relay --listen 0.0.0.0:8444 --tls-cert relay.pem --tls-key relay.key \\
                --gateway https://gateway.example.com:8445/gateway

            Forwards each encapsulated request (POST /) once to one gateway, and
            leaves out everything that tells one client from another. It cannot
            read the requests. A request or response may be up to 16 MiB if sent
            whole, or 16 GiB in chunks. An exchange may take --request-timeout; it
            ends when the gateway sends nothing for 60 seconds, or the client for
            30. GET /health answers 200. It speaks HTTP/1.1. Prints its URL on standard
            output when it is ready. SIGTERM and SIGINT let open requests go on
            for up to 8 seconds.

            A client (an address, or a /64 of IPv6) may hold a quarter of the
            connections, or 32 if that is more. Behind your own balancer all clients
            count as one: let the balancer speak the PROXY protocol, and name it
            with --trusted-proxy.

            Different parties must run relay and gateway: a party that runs both
            sees each client's address and requests.

            Metrics (swift-metrics) are only for programs that embed the library.
            """)

    @Option(
        name: .long, help: ArgumentHelp("The address to listen on; port 0 lets the system choose one.", valueName: "host:port"),
        transform: ListenAddress.init(argument:))
    var listen: ListenAddress

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The gateway's URL: https, or http on loopback. Default path: /gateway.", valueName: "url"))
    var gateway: String

    @Option(
        name: .long,
        help: ArgumentHelp("A pin of the gateway's key. Repeatable. Default: path validation alone.", valueName: "sha256/…"))
    var pin: [String] = []

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("PEM roots to trust for the gateway. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How many requests one address may have open at once; the relay answers 429 to further ones. Raise it if many clients share \
            an address. Default: \(RelayConfiguration.Limits().requestsPerClient).
            """, valueName: "n"))
    var requestsPerClient: Int?

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            How many seconds an exchange may take, from the request's head to the end of the response. Raise it for large messages over \
            slow lines and for endless responses. Default: \(RelayConfiguration.Limits().requestTimeout.components.seconds).
            """, valueName: "seconds"), transform: TimeSpan.readSeconds)
    var requestTimeout: Int?

    @OptionGroup var tls: ServerTLSOptions
    @OptionGroup var logs: LogOptions

    @OptionGroup var proxies: TrustedProxyOptions

    func validate() throws {
        try tls.check(listen)
        let url = try ServerOptions.url(gateway, of: "--gateway", such: "https://gateway.example.com/gateway")
        guard (1...1_000_000).contains(requestsPerClient ?? 1) else { throw ValidationError("--requests-per-client must be 1 to 1000000.") }
        guard (1...86_400).contains(requestTimeout ?? 1) else { throw ValidationError("--request-timeout must be 1 to 86400 seconds.") }
        if !url.isSecure, !pin.isEmpty || caCert != nil {
            throw ValidationError("--pin and --cacert are only valid for a gateway with https.")
        }
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
            gatewayTrustRootsPEM: try caCert.map { try Files.roots(at: $0).pem },
            tls: try tls.files(Remarks(logs, logger)).map { .certificate(certificatePEM: $0.certificate, keyPEM: $0.key) } ?? .none,
            limits: limits)
        configuration.trustedProxies = proxies.trustedProxy
        let relay = try Relay(configuration: configuration, logger: logger, onReady: { Console.line($0.absoluteString) })
        try await ServiceGroup(services: [relay], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
    }
}
