import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Testing

/// A TLS client and server that talk through memory, with the client's context in the state in which libcurl hands it out.
final class HandshakePair {
    /// The host, rule and anchors of the verify callback, and its results.
    final class Hook {
        let host: CanonicalHost
        let rule: TrustRule
        let anchors: TrustAnchors
        var results: [HandshakeJudgement] = []
        var errors: [Int32] = []
        /// The results of the status callback.
        var statusResults: [Result<ServerTrust, TrustRefusal>] = []

        init(host: String, rule: TrustRule, anchors: TrustAnchors) throws {
            self.host = try CanonicalHost(host)
            self.rule = rule
            self.anchors = anchors
        }

        func judgeStatus(_ ssl: OpaquePointer) -> Bool {
            guard case .awaitsStatus(let trust)? = results.last else { return true }
            let result = ChainValidator.evaluate(status: ssl, of: trust, rule: rule, recentResults: { _ in [:] })
            statusResults.append(result)
            return result.isTrusted
        }
    }

    let client: OpaquePointer
    let server: OpaquePointer
    private let hook: Hook
    private var stapled: [UInt8] = []
    /// The sessions that the client's session callback received.
    private(set) var sessions: [OpaquePointer] = []
    /// The resumption extensions in the client's first message, one set for each connection.
    private(set) var offers: [Set<UInt32>] = []

    /// Hardens the client's context.
    ///
    /// `beforeHardening` and `afterHardening` do what libcurl or openssl.cnf would do before and after it.
    init(
        server chain: [TestCertificate], hook: Hook, beforeHardening: (OpaquePointer) -> Void = { _ in },
        afterHardening: (OpaquePointer) -> Void = { _ in }
    ) throws {
        self.hook = hook
        client = try #require(SSL_CTX_new(TLS_client_method()))
        server = try #require(SSL_CTX_new(TLS_server_method()))
        beforeHardening(client)
        try #require(hook.rule.prepare(sslContext: client))
        afterHardening(client)
        SSL_CTX_set_cert_verify_callback(
            client,
            { context, argument in
                guard let context, let argument else { return 0 }
                let hook = Unmanaged<Hook>.fromOpaque(argument).takeUnretainedValue()
                let result = ChainValidator.evaluate(
                    handshake: context, host: hook.host, rule: hook.rule, defaultAnchors: hook.anchors, time: nil,
                    recentResults: { _ in [:] }, searchLimit: .untimed)
                hook.results.append(result)
                hook.errors.append(X509_STORE_CTX_get_error(context))
                return result.refusal == nil ? 1 : 0
            }, Unmanaged.passUnretained(hook).toOpaque())
        COpenSSL_set_status_callback(
            client,
            { ssl, argument in
                guard let ssl, let argument else { return 0 }
                return Unmanaged<Hook>.fromOpaque(argument).takeUnretainedValue().judgeStatus(ssl) ? 1 : 0
            }, Unmanaged.passUnretained(hook).toOpaque())
        SSL_CTX_set_security_level(server, 0)
        for (index, certificate) in chain.enumerated() {
            let x509 = try certificate.der.withUnsafeBufferPointer { buffer in
                var cursor = buffer.baseAddress
                return try #require(d2i_X509(nil, &cursor, buffer.count))
            }
            defer { X509_free(x509) }
            let isAdded = index == 0 ? SSL_CTX_use_certificate(server, x509) == 1 : COpenSSLTest.addChain(server, x509) == 1
            try #require(isAdded)
        }
        if let leaf = chain.first {
            try KeyForms.withKey(leaf.key) { key in try #require(SSL_CTX_use_PrivateKey(server, key) == 1) }
        }
    }

    /// Makes the server staple these bytes in its handshakes.
    func staple(_ bytes: [UInt8]) {
        stapled = bytes
        COpenSSL_set_status_callback(
            server,
            { ssl, argument in
                guard let ssl, let argument else { return SSL_TLSEXT_ERR_NOACK }
                let bytes = Unmanaged<HandshakePair>.fromOpaque(argument).takeUnretainedValue().stapled
                // OpenSSL frees this memory.
                guard let copy = CRYPTO_malloc(bytes.count, nil, 0) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                copy.copyMemory(from: bytes, byteCount: bytes.count)
                SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, bytes.count, copy)
                return SSL_TLSEXT_ERR_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Resumes every session that the client's context hands out, as libcurl's session cache does, and records what the client offers.
    func resumeSessions() {
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        SSL_CTX_set_ex_data(client, 0, pointer)
        SSL_CTX_sess_set_new_cb(client) { ssl, session in
            guard let ssl, let session, let pointer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), 0) else { return 0 }
            Unmanaged<HandshakePair>.fromOpaque(pointer).takeUnretainedValue().sessions.append(session)
            // 1 means that the callback keeps the session.
            return 1
        }
        SSL_CTX_set_client_hello_cb(
            server,
            { ssl, _, pointer in
                guard let ssl, let pointer else { return SSL_CLIENT_HELLO_ERROR }
                let offered = [HandshakePair.ticketExtension, HandshakePair.preSharedKeyExtension].filter {
                    var bytes: UnsafePointer<UInt8>?
                    var count = 0
                    return SSL_client_hello_get0_ext(ssl, $0, &bytes, &count) == 1
                }
                Unmanaged<HandshakePair>.fromOpaque(pointer).takeUnretainedValue().offers.append(Set(offered))
                return SSL_CLIENT_HELLO_SUCCESS
            }, pointer)
    }

    /// session_ticket (RFC 5077) and pre_shared_key (RFC 8446, section 4.2.11).
    private static let ticketExtension: UInt32 = 35
    private static let preSharedKeyExtension: UInt32 = 41

    deinit {
        sessions.forEach(SSL_SESSION_free)
        SSL_CTX_free(client)
        SSL_CTX_free(server)
    }

    /// The result of one connection.
    struct Outcome {
        var isConnected: Bool
        var isResumed: Bool
        var version: Int32
        var verifyResult: Int
        /// The path that OpenSSL holds as verified, in DER.
        var verifiedChain: [[UInt8]]
    }

    /// Completes the handshake and reads one byte from the server, so that session tickets would arrive too.
    func connect() throws -> Outcome {
        let clientEnd = try #require(SSL_new(client))
        let serverEnd = try #require(SSL_new(server))
        defer {
            SSL_free(clientEnd)
            SSL_free(serverEnd)
        }
        var clientPipe: OpaquePointer?
        var serverPipe: OpaquePointer?
        try #require(BIO_new_bio_pair(&clientPipe, 1 << 18, &serverPipe, 1 << 18) == 1)
        SSL_set_bio(clientEnd, clientPipe, clientPipe)
        SSL_set_bio(serverEnd, serverPipe, serverPipe)
        SSL_set_connect_state(clientEnd)
        if let session = sessions.last { try #require(SSL_set_session(clientEnd, session) == 1) }
        SSL_set_accept_state(serverEnd)
        for _ in 0..<20 where SSL_is_init_finished(clientEnd) == 0 || SSL_is_init_finished(serverEnd) == 0 {
            _ = SSL_do_handshake(clientEnd)
            _ = SSL_do_handshake(serverEnd)
        }
        let isConnected = SSL_is_init_finished(clientEnd) == 1 && SSL_is_init_finished(serverEnd) == 1
        if isConnected {
            var byte: UInt8 = 42
            _ = SSL_write(serverEnd, &byte, 1)
            #expect(SSL_read(clientEnd, &byte, 1) == 1)
        }
        // OpenSSL resumes no session whose connection ended without a shutdown.
        for end in [clientEnd, serverEnd] { SSL_set_shutdown(end, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN) }
        ERR_clear_error()
        return Outcome(
            isConnected: isConnected, isResumed: SSL_session_reused(clientEnd) == 1, version: SSL_version(clientEnd),
            verifyResult: SSL_get_verify_result(clientEnd), verifiedChain: COpenSSLTest.encoded(SSL_get0_verified_chain(clientEnd)))
    }
}

/// OpenSSL macros that only these tests need (openssl/ssl.h).
enum COpenSSLTest {
    /// SSL_CTX_add1_chain_cert.
    static func addChain(_ context: OpaquePointer, _ certificate: OpaquePointer) -> Int {
        SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
    }

    /// The certificates of a STACK_OF(X509), in DER.
    static func encoded(_ chain: OpaquePointer?) -> [[UInt8]] {
        (0..<max(0, COpenSSL_chain_count(chain))).map { index in
            var bytes: UnsafeMutablePointer<UInt8>?
            let count = i2d_X509(COpenSSL_chain_certificate(chain, index), &bytes)
            defer { COpenSSL_free(bytes) }
            return [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count)))
        }
    }

    /// SSL_CTX_set_max_proto_version.
    static func setMaximumVersion(_ context: OpaquePointer, _ version: Int32) {
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
    }

    /// SSL_CTX_set_min_proto_version.
    static func setMinimumVersion(_ context: OpaquePointer, _ version: Int32) {
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
    }

    /// SSL_CTX_get_min_proto_version.
    static func minimumVersion(_ context: OpaquePointer) -> Int {
        SSL_CTX_ctrl(context, SSL_CTRL_GET_MIN_PROTO_VERSION, 0, nil)
    }

    /// SSL_CTX_set_session_cache_mode.
    static func setSessionCacheMode(_ context: OpaquePointer, _ mode: Int32) {
        SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(mode), nil)
    }
}
