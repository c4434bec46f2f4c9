import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Testing

@Suite("Inside a TLS handshake")
struct HandshakeTests {
    private let root: TestCertificate
    private let intermediate: TestCertificate
    private let leaf: TestCertificate
    private let anchors: TrustAnchors

    init() throws {
        root = try TestPKI.root()
        intermediate = try TestPKI.intermediate(issuer: root)
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        anchors = try TrustAnchors(root)
    }

    private func hook(host: String = "api.test", rule: TrustRule = .pathValidation) throws -> HandshakePair.Hook {
        try HandshakePair.Hook(host: host, rule: rule, anchors: anchors)
    }

    @Test("A pinned server is trusted, by the path that OpenSSL built", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func trusted(version: Int32) throws {
        let hook = try hook(rule: .pinned(Pin(root.key)))
        let pair = try HandshakePair(server: leaf.chain(), hook: hook)
        COpenSSLTest.setMaximumVersion(pair.server, version)
        let outcome = try pair.connect()
        #expect(outcome.isConnected && outcome.version == version && outcome.verifyResult == Int(X509_V_OK))
        #expect(try hook.results.map { try $0.get().chain.map(\.der) } == [[leaf, intermediate, root].map(\.der)])
    }

    @Test("A refusal ends the handshake, gives OpenSSL the error code, and equals the refusal without a network")
    func refused() throws {
        let other = try TrustRule.pinned(Pin(TestKey()))
        let stranger = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        let cases: [([TestCertificate], String, TrustRule, TrustRefusal.Reason, Int32)] = [
            (leaf.chain(), "api.test", other, .pinMismatch, X509_V_ERR_APPLICATION_VERIFICATION),
            (leaf.chain(), "other.test", .pathValidation, .hostMismatch, X509_V_ERR_HOSTNAME_MISMATCH),
            ([leaf], "api.test", .pathValidation, .incompletePath, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY),
            ([stranger], "api.test", .pathValidation, .selfSigned, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT),
        ]
        for (chain, host, rule, reason, code) in cases {
            let hook = try hook(host: host, rule: rule)
            let outcome = try HandshakePair(server: chain, hook: hook).connect()
            #expect(!outcome.isConnected)
            #expect(hook.results.map(\.reason) == [reason])
            #expect(hook.errors == [code])
            let offline = try judge(chain, host: host, rule: rule, anchors: anchors)
            #expect(hook.results.first?.refusal?.description == offline.refusal?.description)
        }
    }

    @Test("Changes that libcurl makes to the certificate store after hardening have no effect")
    func foreignStore() throws {
        let evil = try TestPKI.root("Evil")
        let evilIntermediate = try TestPKI.intermediate(issuer: evil)
        let impostor = try TestPKI.leaf(hosts: ["api.test"], issuer: evilIntermediate)
        let hook = try hook()
        let pair = try HandshakePair(
            server: impostor.chain(includingRoot: true), hook: hook,
            afterHardening: { context in
                // As curl 7.88 does in the first read after the ClientHello: it adds its own roots, here with an intermediate.
                let store = X509_STORE_new()
                for certificate in [evil, evilIntermediate] {
                    certificate.der.withUnsafeBufferPointer { buffer in
                        var cursor = buffer.baseAddress
                        let x509 = d2i_X509(nil, &cursor, buffer.count)
                        X509_STORE_add_cert(store, x509)
                        X509_free(x509)
                    }
                }
                X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
                SSL_CTX_set_cert_store(context, store)
            })
        #expect(try !pair.connect().isConnected)
        #expect(hook.results.map(\.reason) == [.untrustedRoot])
    }

    @Test("A hardened context without its verify callback trusts no server")
    func withoutCallback() throws {
        let pair = try HandshakePair(server: leaf.chain(includingRoot: true), hook: hook())
        SSL_CTX_set_cert_verify_callback(pair.client, nil, nil)
        let outcome = try pair.connect()
        #expect(!outcome.isConnected)
        #expect(outcome.verifyResult == Int(X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN))
    }

    @Test("Hardening overrides SSL_VERIFY_NONE, and the verify callback still refuses the server")
    func verifyNone() throws {
        let hook = try hook(rule: .pinned(Pin(TestKey())))
        let pair = try HandshakePair(
            server: leaf.chain(), hook: hook, beforeHardening: { SSL_CTX_set_verify($0, SSL_VERIFY_NONE, nil) })
        #expect(try !pair.connect().isConnected)
    }

    @Test("The client resumes no session, so that every handshake is judged", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func noResumption(version: Int32) throws {
        let hook = try hook()
        let pair = try HandshakePair(
            server: leaf.chain(), hook: hook,
            beforeHardening: { COpenSSLTest.setSessionCacheMode($0, SSL_SESS_CACHE_CLIENT) })
        COpenSSLTest.setMaximumVersion(pair.server, version)
        pair.resumeSessions()
        for _ in 0..<3 {
            let outcome = try pair.connect()
            #expect(outcome.isConnected && !outcome.isResumed)
        }
        #expect(hook.results.count == 3)
        #expect(pair.sessions.isEmpty, "the context handed out a session, which libcurl would have kept")
        #expect(pair.offers == [[], [], []], "the client asked for a ticket, or offered a ticket or pre_shared_key")
    }

    @Test("Hardening disables renegotiation, in which a TLS 1.2 server could present another certificate")
    func noRenegotiation() throws {
        // SSL_OP_NO_RENEGOTIATION, a macro that Swift does not import.
        let refusal = UInt64(1) << 30
        let pair = try HandshakePair(
            server: leaf.chain(), hook: hook(), beforeHardening: { #expect(SSL_CTX_get_options($0) & refusal == 0) })
        #expect(SSL_CTX_get_options(pair.client) & refusal != 0)
    }

    @Test("The client writes no key log, even if a key log callback was set before")
    func keyLog() throws {
        let hook = try hook()
        let pair = try HandshakePair(
            server: leaf.chain(), hook: hook,
            beforeHardening: { SSL_CTX_set_keylog_callback($0) { _, _ in Issue.record("a secret was logged") } })
        #expect(try pair.connect().isConnected)
    }

    @Test("Hardening refuses TLS 1.1 and enables TLS 1.3, whatever openssl.cnf configured before")
    func versions() throws {
        let loosen: (OpaquePointer) -> Void = { context in
            SSL_CTX_set_security_level(context, 0)
            COpenSSLTest.setMinimumVersion(context, TLS1_VERSION)
            COpenSSLTest.setMaximumVersion(context, TLS1_1_VERSION)
        }
        let old = try HandshakePair(server: leaf.chain(), hook: hook(), beforeHardening: loosen)
        COpenSSLTest.setMinimumVersion(old.server, TLS1_VERSION)
        COpenSSLTest.setMaximumVersion(old.server, TLS1_1_VERSION)
        #expect(try !old.connect().isConnected)
        let new = try HandshakePair(server: leaf.chain(), hook: hook(), beforeHardening: loosen)
        #expect(try new.connect().version == TLS1_3_VERSION)
    }

    @Test("Hardening raises the security level and the minimum version, and lowers neither")
    func onlyRaises() throws {
        let cases: [(level: Int32, version: Int32, hardenedLevel: Int32, hardenedVersion: Int32)] = [
            (0, 0, 2, TLS1_2_VERSION), (1, TLS1_1_VERSION, 2, TLS1_2_VERSION), (2, TLS1_3_VERSION, 2, TLS1_3_VERSION),
            (3, TLS1_2_VERSION, 3, TLS1_2_VERSION), (5, TLS1_3_VERSION, 5, TLS1_3_VERSION),
        ]
        for (level, version, hardenedLevel, hardenedVersion) in cases {
            let context = try #require(SSL_CTX_new(TLS_client_method()))
            defer { SSL_CTX_free(context) }
            SSL_CTX_set_security_level(context, level)
            COpenSSLTest.setMinimumVersion(context, version)
            #expect(ChainValidator.harden(sslContext: context))
            #expect(SSL_CTX_get_security_level(context) == hardenedLevel)
            #expect(COpenSSLTest.minimumVersion(context) == Int(hardenedVersion))
        }
    }

    @Test("A weak key is refused in the handshake even if the context was at security level 0")
    func securityLevel() throws {
        let weak = try TestPKI.leaf(hosts: ["api.test"], issuer: root, key: TestKey(.rsa1024))
        let pair = try HandshakePair(
            server: weak.chain(), hook: hook(rule: .pinned(Pin(weak.key))), beforeHardening: { SSL_CTX_set_security_level($0, 0) })
        #expect(try !pair.connect().isConnected)
    }

    @Test("A disabled rule trusts every server, but has no effect on the next handshake")
    func disabled() throws {
        let stranger = try TestPKI.leaf(hosts: ["else.test"], issuer: nil, flaws: [.expired])
        let open = try hook(rule: TrustRule(evaluators: [DisabledTrustEvaluator()]))
        #expect(try HandshakePair(server: [stranger], hook: open).connect().isConnected)
        #expect(try HandshakePair(server: [stranger], hook: hook()).connect().isConnected == false)
    }

    @Test("An error that an evaluator leaves in OpenSSL's queue does not reach the handshake through the status callback")
    func statusErrorQueue() throws {
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(context) }
        let connection = try #require(SSL_new(context))
        defer { SSL_free(connection) }
        let trust = try judge(leaf.chain(), anchors: anchors).get()
        let careless = evaluator { _, _ in
            // An empty text contains no PEM.
            let bio = BIO_new(BIO_s_mem())
            _ = PEM_read_bio_X509(bio, nil, nil, nil)
            BIO_free(bio)
            return ERR_peek_error() == 0 ? .needs([]) : .trusted
        }
        ERR_clear_error()
        let rule = TrustRule(evaluators: [careless])
        #expect(ChainValidator.evaluate(status: connection, of: trust, rule: rule, recentResults: { _ in [:] }).isTrusted)
        #expect(ERR_peek_error() == 0)
    }

    @Test("Refused handshakes and refused chains leave OpenSSL's error queue empty")
    func errorQueue() throws {
        let stack = try HandshakePair(server: leaf.chain(), hook: hook(host: "other.test"))
        for _ in 0..<100 { _ = try stack.connect() }
        #expect(ERR_peek_error() == 0)
        let chain = [leaf]
        ERR_clear_error()
        _ = try judge(chain, host: "other.test", anchors: anchors)
        _ = try judge(chain, anchors: anchors)
        #expect(ERR_peek_error() == 0)
    }
}
