import ApproovTesting
import CLibCurl
import CertificatePinning
import Testing

@testable import HTTPClient

@Suite("libcurl's failures")
struct CurlFailureTests {
    private let handles = CurlEasyHandlePool()

    /// A transfer with a connection on which the server sent this alert: the level in the second byte, the description in the first.
    private func transfer(
        alert: Int32? = nil, presenting identity: ClientIdentity? = nil, over proxy: ProxyConfiguration? = nil
    ) throws -> CurlTransfer {
        let anchors = try TrustAnchors(pem: TestPKI.root().pem)
        var evaluators: [any ServerTrustEvaluating] = []
        if let identity { evaluators.append(DefaultTrustEvaluator().presenting(identity)) }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: anchors)
        var request = TransportRequest(url: try TransportURL("https://host.test/"), policy: policy)
        request.options.proxy = proxy
        let terms = TrustHook.Terms(
            host: request.url.host, port: 443, rule: TrustRule(evaluators: evaluators), defaultAnchors: anchors,
            generation: policy.generation, lookups: LookupCoalescer(fetcher: nil, timeout: .seconds(1), time: ManualClock()),
            route: LookupRoute(of: request))
        let transfer = try CurlTransfer(
            handles: handles, upload: CurlUpload(request.body, offersDecoding: false), request: request, terms: terms)
        let hook = TrustHook(terms)
        if let alert { hook.receive(alert: alert) }
        transfer.hook = hook
        return transfer
    }

    @Test(
        "A fatal alert about the client's certificate after the handshake is a TLS failure, not a lost connection",
        arguments: [40, 42, 43, 44, 45, 46, 48, 49, 116] as [Int32])
    func certificateAlerts(description: Int32) throws {
        let client = try TestPKI.leaf(hosts: ["client.test"], issuer: TestPKI.root(), flaws: [.clientAuthOnly])
        let identity = try ClientIdentity(
            certificates: [Certificate(der: client.der)], privateKey: .bytes(Array(client.privateKeyPEM.utf8)))
        let cases: [(ClientIdentity?, String)] = [(nil, "requires a client certificate"), (identity, "refused the client certificate")]
        for (shown, text) in cases {
            let transfer = try transfer(alert: 0x0200 | description, presenting: shown)
            for wasSent in [false, true] {
                transfer.wasSent = wasSent
                for code in [CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING] {
                    let error = CurlFailure.error(code, of: transfer)
                    #expect(error.code == .tlsFailed && error.message.contains(text) && error.message.contains("alert \(description);"))
                }
            }
        }
    }

    @Test("The error for a server that cannot be reached names its host and port, or those of the proxy")
    func place() throws {
        let connecting = [CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT]
        for code in connecting + [CURLE_SSL_CONNECT_ERROR, CURLE_GOT_NOTHING] {
            let error = CurlFailure.error(code, of: try transfer())
            #expect(error.message.contains("host.test port 443"), "\(error)")
        }
        #expect(CurlFailure.error(CURLE_COULDNT_RESOLVE_HOST, of: try transfer()).message.contains("host.test"))
        let late = try transfer()
        late.wasSent = true
        #expect(CurlFailure.error(CURLE_OPERATION_TIMEDOUT, of: late).message.contains("host.test port 443"))
        let proxy = ProxyConfiguration(kind: .http, host: try CanonicalHost("proxy.test"), port: 3128)
        for code in connecting + [CURLE_PROXY, CURLE_COULDNT_RESOLVE_PROXY] {
            let error = CurlFailure.error(code, of: try transfer(over: proxy))
            #expect(error.message.contains("proxy.test port 3128") && !error.message.contains("host.test"), "\(error)")
        }
    }

    @Test(
        "A warning, another alert, or none leaves a lost connection a lost connection",
        arguments: [nil, 0x012A, 0x0100, 0x022F, 0x0250, 0x025A] as [Int32?])
    func otherAlerts(alert: Int32?) throws {
        let transfer = try transfer(alert: alert)
        #expect(CurlFailure.error(CURLE_RECV_ERROR, of: transfer).code == .connectionLost)
        #expect(transfer.hook?.hasServerClosed == (alert == 0x0100))
    }

    @Test("The last fatal alert of a connection counts, and a new connection begins without one")
    func lastAlert() throws {
        let transfer = try transfer(alert: 0x022A)
        let first = try #require(transfer.hook)
        first.receive(alert: 0x0250)
        #expect(CurlFailure.error(CURLE_RECV_ERROR, of: transfer).code == .connectionLost)
        first.receive(alert: 0x0274)
        #expect(CurlFailure.error(CURLE_RECV_ERROR, of: transfer).code == .tlsFailed)
        transfer.hook = TrustHook(first.terms)
        #expect(CurlFailure.error(CURLE_RECV_ERROR, of: transfer).code == .connectionLost)
    }

    @Test("A refused client certificate is named during the handshake, too, except by the alert that has other causes")
    func handshake() throws {
        for (description, isNamed) in [(42, true), (48, true), (40, false), (70, false)] as [(Int32, Bool)] {
            let error = CurlFailure.error(CURLE_SSL_CONNECT_ERROR, of: try transfer(alert: 0x0200 | description))
            #expect(error.code == .tlsFailed && error.message.contains("client certificate") == isNamed)
        }
    }

    @Test("A refused server's error says that nothing was sent only if that is so")
    func fate() throws {
        let transfer = try transfer()
        for (wasSent, text) in [(false, "nothing was sent"), (true, "the request had been sent on an earlier connection")] {
            transfer.wasSent = wasSent
            let error = CurlFailure.error(CURLE_PEER_FAILED_VERIFICATION, of: transfer)
            #expect(error.code == .trustRefused && error.message.contains(text))
        }
    }
}
