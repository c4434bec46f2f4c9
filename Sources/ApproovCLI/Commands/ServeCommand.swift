import ApproovAuthority
import ArgumentParser
import CertificatePinning
import Foundation
import HTTPServing
import Logging
import ServiceLifecycle
import UnixSignals

/// `approov serve`: the authority.
struct ServeCommand: AsyncParsableCommand, LoggingCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the authority: it judges evidence and issues tokens.",
        discussion: """
            approov serve --data /var/lib/approov --listen 0.0.0.0:8443 \\
                --public-url https://authority.example.com:8443

            Prints its URL on standard output when it is ready. Without --tls-cert
            it makes a key, a backup key and a certificate under a root of its
            own, keeps them in the store, and `approov sdk -getConfig` writes
            their pins. SIGTERM and SIGINT let open requests end first.

            A client (an address, or a /64 of IPv6) may have a quarter of the
            connections. Behind a balancer, which must pass TLS through as apps pin
            the authority's key, all clients would be one: let the balancer speak
            the PROXY protocol, and name it with --trusted-proxy.

            What it counts (swift-metrics) is for programs that embed the library.
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var logs: LogOptions

    @Option(
        name: .long, help: ArgumentHelp("Where to listen; port 0 lets the system choose.", valueName: "host:port"),
        transform: ListenAddress.init(argument:))
    var listen = ListenAddress(host: "127.0.0.1", port: DemoAccount.port)

    @Option(name: .long, help: ArgumentHelp("The URL under which apps reach the authority. Default: https, host, port.", valueName: "url"))
    var publicURL: String?

    @Option(name: .long, help: ArgumentHelp("The server's certificate and its intermediates, PEM.", valueName: "file"))
    var tlsCert: String?

    @Option(name: .long, help: ArgumentHelp("The certificate's private key, PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(
        name: .long,
        help: ArgumentHelp("With --tls-cert: the pin of a key that may replace the certificate's. Repeatable.", valueName: "sha256/…"))
    var backupPin: [String] = []

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("With --tls-cert: the roots that apps trust for it, PEM. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(name: .long, help: ArgumentHelp("How long a token is good for.", valueName: "seconds"))
    var tokenLifetime = 300

    @Option(name: .long, help: ArgumentHelp("Attestations per minute and address; 0: any number.", valueName: "n"))
    var attestationsPerMinute = 600

    @OptionGroup var proxies: TrustedProxyOptions

    @Flag(name: .long, help: "Serve the demo account of approov-initial.config, whose keys everybody has. Loopback addresses only.")
    var demo = false

    func validate() throws {
        guard (tlsCert == nil) == (tlsKey == nil) else { throw ValidationError("--tls-cert and --tls-key go together.") }
        if tlsCert == nil, !backupPin.isEmpty || caCert != nil {
            throw ValidationError("--backup-pin and --cacert go with --tls-cert.")
        }
        guard (1...86_400).contains(tokenLifetime) else { throw ValidationError("--token-lifetime must be 1 to 86400 seconds.") }
        guard (0...1_000_000).contains(attestationsPerMinute) else {
            throw ValidationError("--attestations-per-minute must be 0 to 1000000.")
        }
        if let publicURL, URL(string: publicURL)?.scheme?.lowercased() != "https" {
            throw ValidationError("--public-url must be an https URL.")
        }
        if demo, tlsCert != nil { throw ValidationError("--demo brings its own certificate: leave --tls-cert away.") }
        if demo, (try? CanonicalHost(listen.host))?.isLoopback != true {
            throw ValidationError("--demo listens on loopback addresses only: its keys are published.")
        }
    }

    func run() async throws {
        DescriptorLimit.raise()
        // Check everything else before opening the store: a server that cannot start must not make one.
        let tls = try tls()
        if store.isMissing { try listen.checkThatItCanBeBound() }
        let store = try store.open(.making, seed: demo ? DemoAccount.seed() : nil)
        if demo, try !DemoAccount.isDemo(store) {
            throw CommandFailure("\(self.store.directory.path) holds another account than the demo's: name another folder with --data")
        }
        if case .own = tls, !demo {
            Console.note(
                "approov: no --tls-cert: serving with a key, a backup key and a certificate of the store's own making; "
                    + "`approov sdk -getConfig` writes their pins")
        }
        if publicURL == nil, ["0.0.0.0", "::"].contains((try? CanonicalHost(listen.host))?.name) {
            Console.note(
                "approov: no --public-url: apps on other machines cannot reach https://localhost, which new configurations name; "
                    + "serve with --public-url https://HOST:PORT")
        }
        let logger = Logger(label: "approov.authority")
        var configuration = AuthorityConfiguration(
            host: listen.host, port: listen.port, publicURL: url(), tls: tls, tokenLifetime: tokenLifetime,
            attestationsPerMinute: attestationsPerMinute == 0 ? nil : attestationsPerMinute)
        configuration.trustedProxies = proxies.trustedProxy
        let authority = try Authority(
            store: store, configuration: configuration, logger: logger, onReady: { Console.line($0.absoluteString) })
        try await ServiceGroup(services: [authority], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
    }

    private func url() -> URL? {
        if let publicURL { return URL(string: publicURL) }
        return demo ? URL(string: "https://\(DemoAccount.authorityHost):\(listen.port)") : nil
    }

    private func tls() throws -> AuthorityConfiguration.TLS {
        guard let tlsCert, let tlsKey else { return .own }
        let files = try ServerTLSOptions.files(certificate: tlsCert, key: tlsKey)
        return .certificate(
            certificatePEM: files.certificate, keyPEM: files.key,
            backupPins: backupPin, trustRootsPEM: try caCert.map { try Files.text(at: $0, what: "the roots") })
    }
}
