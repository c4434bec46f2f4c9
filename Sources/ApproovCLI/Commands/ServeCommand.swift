import ApproovAuthority
import ArgumentParser
import CertificatePinning
import Foundation
import HTTPClient
import HTTPServing
import Logging
import ServiceLifecycle
import UnixSignals

/// `approov serve`: the authority.
struct ServeCommand: AsyncParsableCommand, LoggingCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the authority: it verifies evidence and issues tokens.",
        discussion: """
            approov serve --data /var/lib/approov --listen 0.0.0.0:8443 \\
                --public-url https://authority.example.com:8443

            Prints its URL on standard output when it is ready. Without --tls-cert
            it makes a key, a backup key and a certificate under its own root, and
            keeps them in the store; `approov sdk -getConfig` writes their pins.
            SIGTERM and SIGINT let open requests go on for up to 8 seconds.

            A client (an address, or a /64 of IPv6) may hold a quarter of the
            connections, or 32 if that is more. A balancer must pass TLS through,
            because apps pin the authority's key. Behind it all clients count as
            one: let the balancer speak the PROXY protocol, and name it with
            --trusted-proxy.

            Metrics (swift-metrics) are only for programs that embed the library.
            """)

    @OptionGroup var store: StoreOptions
    @OptionGroup var logs: LogOptions

    @Option(
        name: .long,
        help: ArgumentHelp("The address to listen on; port 0 lets the system choose one. Default: 127.0.0.1:8443.", valueName: "host:port"),
        transform: ListenAddress.init(argument:))
    var listen = ListenAddress(host: "127.0.0.1", port: DemoAccount.port)

    @Option(
        name: .long,
        help: ArgumentHelp("The URL under which apps reach the authority. Default: https://HOST:PORT of --listen.", valueName: "url"))
    var publicURL: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "PEM file of the server's certificate and its intermediates. Default: a certificate that the store makes.", valueName: "file"))
    var tlsCert: String?

    @Option(name: .long, help: ArgumentHelp("PEM file of the certificate's private key.", valueName: "file"))
    var tlsKey: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --tls-cert: the pin of a backup key, which may replace the certificate's key. Repeatable.", valueName: "sha256/…"))
    var backupPin: [String] = []

    @Option(
        name: .customLong("cacert"),
        help: ArgumentHelp("With --tls-cert: PEM roots that apps trust for the authority. Default: the system's.", valueName: "file"))
    var caCert: String?

    @Option(
        name: .long, help: ArgumentHelp("The lifetime of a token, 1 to 86400 seconds; also with a unit, such as 5m.", valueName: "seconds"),
        transform: TimeSpan.readSeconds)
    var tokenLifetime = TokenLifetime.standard

    @Option(
        name: .long,
        help: ArgumentHelp("How many attestations each client address may request per minute; 0 sets no limit.", valueName: "n"))
    var attestationsPerMinute = AuthorityConfiguration.standardAttestationsPerMinute

    @OptionGroup var proxies: TrustedProxyOptions

    @Flag(name: .long, help: "Serve the demo account of approov-initial.config, whose keys are public. Loopback addresses only.")
    var demo = false

    func validate() throws {
        guard (tlsCert == nil) == (tlsKey == nil) else { throw ValidationError("--tls-cert and --tls-key must be given together.") }
        if tlsCert == nil, !backupPin.isEmpty || caCert != nil {
            throw ValidationError("--backup-pin and --cacert are only valid with --tls-cert.")
        }
        if tlsCert != nil, backupPin.isEmpty {
            throw ValidationError(
                "--tls-cert needs --backup-pin, the pin of a second key that you keep elsewhere; approov pin -get KEYFILE prints it.")
        }
        try ServerOptions.check(pins: backupPin, of: "--backup-pin")
        guard TokenLifetime.allowed.contains(tokenLifetime) else { throw ValidationError("--token-lifetime must be 1 to 86400 seconds.") }
        guard (0...1_000_000).contains(attestationsPerMinute) else {
            throw ValidationError("--attestations-per-minute must be 0 to 1000000.")
        }
        if let publicURL, !Self.isPublicURL(publicURL) {
            throw ValidationError("--public-url must be an https URL such as https://HOST:PORT, without user, query and fragment.")
        }
        if demo, tlsCert != nil { throw ValidationError("--demo has its own certificate: omit --tls-cert.") }
        if demo, (try? CanonicalHost(listen.host))?.isLoopback != true {
            throw ValidationError(
                "--demo listens only on loopback addresses, because its keys are public: omit --listen, or give 127.0.0.1:PORT.")
        }
        if demo, let publicURL, !Self.isOfThisMachine(URL(string: publicURL)) {
            throw ValidationError(
                "--demo serves only this machine, because its keys are public: omit --public-url. To make your own account, omit --demo, and name another "
                    + "folder with --data.")
        }
    }

    func run() async throws {
        DescriptorLimit.raise()
        // Check everything else before opening the store: a server that cannot start must not make one.
        let logger = Logger(label: "approov.authority")
        let remarks = Remarks(logs, logger)
        let tls = try tls(remarks)
        if store.isMissing { try listen.checkThatItCanBeBound() }
        let store = try store.open(.making, seed: demo ? DemoAccount.seed() : nil, remarks: remarks)
        if demo, try !DemoAccount.isDemo(store) {
            throw CommandFailure("\(self.store.directory.path) holds an account that is not the demo's; name another folder with --data")
        }
        if !demo, try DemoAccount.isDemo(store) {
            let holding = "\(self.store.path) holds the demo account, whose keys are public"
            guard publicURL.map({ Self.isOfThisMachine(URL(string: $0)) }) ?? true else {
                throw CommandFailure("\(holding); name another folder with --data")
            }
            remarks.note("\(holding): serve it with --demo, or name another folder with --data", level: .warning)
        }
        if case .own = tls, !demo {
            remarks.note(
                "no --tls-cert: serving with a key, a backup key and a certificate that the store made; "
                    + "`approov sdk -getConfig` writes their pins")
        }
        if publicURL == nil, listensOnAllAddresses, try await !Self.hasPublicURL(store) {
            remarks.note(
                "no --public-url: new configurations name https://localhost, which apps on other machines cannot reach; "
                    + "serve with --public-url https://HOST:PORT", level: .warning)
        }
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

    /// Whether a URL can be the authority's.
    ///
    /// Port 0 stands for the port that the system chooses.
    private static func isPublicURL(_ text: String) -> Bool {
        guard let url = URL(string: text), var parts = URLComponents(url: url, resolvingAgainstBaseURL: false), parts.query == nil,
            parts.fragment == nil
        else { return false }
        if parts.port == 0 { parts.port = 1 }
        guard let text = parts.string, text.utf8.count <= 2_048 else { return false }
        return (try? TransportURL(text))?.isSecure == true
    }

    /// Whether apps on other machines can reach the URL that the store already names.
    private static func hasPublicURL(_ store: AuthorityStore) async throws -> Bool {
        guard let url = try await store.publicURL() else { return false }
        return !isOfThisMachine(url)
    }

    /// Whether the URL's host is this machine.
    private static func isOfThisMachine(_ url: URL?) -> Bool {
        url?.host().flatMap { try? CanonicalHost($0) }?.isLoopback == true
    }

    private var listensOnAllAddresses: Bool { ["0.0.0.0", "::"].contains((try? CanonicalHost(listen.host))?.name) }

    private func tls(_ remarks: Remarks) throws -> AuthorityConfiguration.TLS {
        guard let tlsCert, let tlsKey else { return .own }
        let files = try ServerTLSOptions.files(certificate: tlsCert, key: tlsKey, remarks)
        let chain: [Certificate]
        do {
            chain = try Certificate.all(inPEM: files.certificate)
        } catch {
            throw CommandFailure("the certificate \(tlsCert): \(error)")
        }
        let pins = try chain.prefix(1).map(\.pin) + backupPin.map { try Pin($0) }
        guard Set(pins).count == pins.count else {
            throw CommandFailure(
                "a --backup-pin is given twice, or is the pin of the key of \(tlsCert); give once the pin of each key that may replace it "
                    + "(approov pin -get KEYFILE prints it)")
        }
        let roots = try roots(for: chain)
        if roots == nil { warnOfUnknownRoot(of: chain, in: tlsCert, remarks) }
        return .certificate(certificatePEM: files.certificate, keyPEM: files.key, backupPins: backupPin, trustRootsPEM: roots)
    }

    /// Reads the roots of `--cacert`; nil without the option.
    /// - Throws: `CommandFailure` when apps that trust these roots would refuse the server's certificates.
    private func roots(for chain: [Certificate]) throws -> String? {
        guard let caCert, let tlsCert else { return nil }
        let roots = try Files.roots(at: caCert)
        guard let host = knownHost else { return roots.pem }
        let judgement = Self.judgement(of: chain, for: host, under: roots.anchors)
        if case .failure(let refusal) = judgement {
            throw CommandFailure(
                "apps would refuse this server: with the roots of --cacert \(caCert), the certificate in \(tlsCert) is not valid for "
                    + "\(host) (\(refusal.reason): \(refusal.detail)); give the root that issued it, put its intermediates into "
                    + "\(tlsCert), and name the authority's host with --public-url")
        }
        return roots.pem
    }

    /// The host that apps use; nil if it is not known yet: on all addresses and without --public-url.
    private var knownHost: CanonicalHost? {
        let name = publicURL.flatMap { URL(string: $0)?.host() } ?? (listensOnAllAddresses ? nil : listen.host)
        return name.flatMap { try? CanonicalHost($0) }
    }

    private static func judgement(
        of chain: [Certificate], for host: CanonicalHost, under anchors: TrustAnchors
    ) -> Result<ServerTrust, TrustRefusal> {
        ChainValidator.evaluate(
            chain: chain, host: host, rule: TrustRule(evaluators: [DefaultTrustEvaluator()]), defaultAnchors: anchors, time: Date())
    }

    /// Warns if apps would not trust the certificate, as far as this machine's roots tell.
    private func warnOfUnknownRoot(of chain: [Certificate], in file: String, _ remarks: Remarks) {
        guard let host = knownHost, let anchors = try? TrustAnchors.system(),
            case .failure(let refusal) = Self.judgement(of: chain, for: host, under: anchors)
        else { return }
        remarks.note(
            "apps may refuse this server: with this machine's roots, the certificate in \(file) is not valid for \(host) "
                + "(\(refusal.reason): \(refusal.detail)); if its root is your own, give it with --cacert root.pem, and write the initial "
                + "configuration again; if it has another name, give that with --public-url", level: .warning)
    }
}
