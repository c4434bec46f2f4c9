import COpenSSL
import CertificatePinning
import CLibCurl
import Synchronization

/// Judges one TLS handshake, and keeps the outcome.
///
/// Lives as long as the connection's SSL_CTX, which retains it.
final class TrustHook: Sendable {
    /// The terms by which the connection is judged.
    ///
    /// A class, because every request hands them on several times.
    final class Terms: Sendable {
        let host: CanonicalHost
        let port: Int
        let rule: TrustRule
        let defaultAnchors: TrustAnchors
        let generation: UInt64
        /// The results of the look-ups that an earlier attempt's verdict asked for.
        let lookupResults: [TrustLookup: TrustLookupResult]
        /// Whether no further look-ups are made for this attempt's verdict.
        let isLast: Bool
        private let lookups: LookupCoalescer
        private let route: LookupRoute

        init(
            host: CanonicalHost, port: Int, rule: TrustRule, defaultAnchors: TrustAnchors, generation: UInt64,
            lookupResults: [TrustLookup: TrustLookupResult] = [:], isLast: Bool = false, lookups: LookupCoalescer, route: LookupRoute
        ) {
            self.host = host
            self.port = port
            self.rule = rule
            self.defaultAnchors = defaultAnchors
            self.generation = generation
            self.lookupResults = lookupResults
            self.isLast = isLast
            self.lookups = lookups
            self.route = route
        }

        /// The answers to look-ups that came for other requests a moment ago.
        fileprivate func recentResults(of needed: [TrustLookup]) -> [TrustLookup: TrustLookupResult] {
            lookups.recentResults(of: needed, over: route)
        }
    }

    enum Outcome: Sendable {
        case notEvaluated
        /// The path is validated; the evaluators are asked when the server's OCSP status has arrived.
        case awaitsStatus(ServerTrust)
        case trusted
        case refused(TrustRefusal)
    }

    let terms: Terms
    private let state = Mutex(Outcome.notEvaluated)
    private let closure = Atomic(false)
    /// The description of the last fatal alert; 0 before there is one.
    private let alert = Atomic<UInt8>(0)
    private let surrender = Atomic(false)
    private let resets = Mutex(ResetWatch())

    init(_ terms: Terms) { self.terms = terms }

    var outcome: Outcome { state.withLock { $0 } }

    /// Whether the server has ended the connection with TLS close_notify, so that nothing was cut off.
    var hasServerClosed: Bool { closure.load(ordering: .relaxed) }

    /// What the server's last fatal TLS alert says about the client's certificate; nil when no alert concerned it.
    var certificateAlert: CertificateAlert? { CertificateAlert(rawValue: alert.load(ordering: .relaxed)) }

    /// Whether the server has given up the connection and everything under way on it (GOAWAY with an error, RFC 9113, section 6.8).
    var hasServerGivenUp: Bool { surrender.load(ordering: .relaxed) }

    /// Notes that the server has given up the connection.
    func serverGaveUp() { surrender.store(true, ordering: .relaxed) }

    /// Counts a stream that libcurl reset on the connection; true when the connection should be replaced.
    func countReset(now: UInt64) -> Bool { resets.withLock { $0.add(now: now) } }

    /// The ex_data slot in which every SSL_CTX holds its hook; negative when OpenSSL has no memory for one.
    private static let slot = copenssl_ssl_ctx_new_slot { _, pointer, _, _, _, _ in
        guard let pointer else { return }
        Unmanaged<TrustHook>.fromOpaque(pointer).release()
    }

    /// Installs this hook in an SSL_CTX that libcurl is about to use.
    ///
    /// - Parameter context: The SSL_CTX*, from CURLOPT_SSL_CTX_FUNCTION.
    /// - Returns: False when OpenSSL refused; the connection must not be made then.
    func install(in context: OpaquePointer) -> Bool {
        guard Self.slot >= 0 else { return false }
        guard terms.rule.prepare(sslContext: context) else { return false }
        let pointer = Unmanaged.passRetained(self).toOpaque()
        guard SSL_CTX_set_ex_data(context, Self.slot, pointer) == 1 else {
            Unmanaged<TrustHook>.fromOpaque(pointer).release()
            return false
        }
        copenssl_ssl_ctx_set_verify(
            context,
            { storeContext, argument in
                guard let storeContext, let argument else { return 0 }
                return Unmanaged<TrustHook>.fromOpaque(argument).takeUnretainedValue().judge(storeContext) ? 1 : 0
            }, pointer)
        if terms.rule.requestsStatus {
            COpenSSL_set_status_callback(
                context,
                { ssl, argument in
                    guard let ssl, let argument else { return 0 }
                    return Unmanaged<TrustHook>.fromOpaque(argument).takeUnretainedValue().judgeStatus(ssl) ? 1 : 0
                }, pointer)
        }
        // libcurl 7.88 reads through its own BIO, which reports the end of TCP and close_notify alike: OpenSSL's "unexpected EOF" never
        // comes.
        SSL_CTX_set_info_callback(context) { ssl, event, detail in
            guard event == SSL_CB_READ_ALERT, let ssl, let context = SSL_get_SSL_CTX(ssl),
                let pointer = SSL_CTX_get_ex_data(context, TrustHook.slot)
            else { return }
            Unmanaged<TrustHook>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.receive(alert: detail) }
        }
        return true
    }

    /// Notes an alert of the server, on the thread that runs the loop: the low byte is its description, the other its level (RFC 8446, section 6).
    func receive(alert code: Int32) {
        let description = UInt8(truncatingIfNeeded: code)
        if description == 0 {
            // close_notify
            closure.store(true, ordering: .relaxed)
        } else if code >> 8 == SSL3_AL_FATAL {
            alert.store(description, ordering: .relaxed)
        }
    }

    /// The hook of the connection that carries a transfer.
    ///
    /// - Parameter easy: The transfer's easy handle.
    /// - Returns: Nil when the connection has no TLS or was not made with a hook.
    static func ofConnection(carrying easy: UnsafeMutableRawPointer) -> TrustHook? {
        guard slot >= 0, let ssl = clibcurl_get_ssl(easy), let context = SSL_get_SSL_CTX(OpaquePointer(ssl)),
            let pointer = SSL_CTX_get_ex_data(context, slot)
        else { return nil }
        // A resumed session skips the verify callback. No session is ever offered, so a resumed one is not trusted.
        guard SSL_session_reused(OpaquePointer(ssl)) == 0 else { return nil }
        return Unmanaged<TrustHook>.fromOpaque(pointer).takeUnretainedValue()
    }

    private func judge(_ storeContext: OpaquePointer) -> Bool {
        let judgement = ChainValidator.evaluate(
            handshake: storeContext, host: terms.host, rule: terms.rule, defaultAnchors: terms.defaultAnchors, time: nil,
            lookupResults: terms.lookupResults, recentResults: terms.recentResults, port: terms.port, isLast: terms.isLast)
        return state.withLock { outcome in
            switch judgement {
            case .trusted:
                outcome = .trusted
                return true
            case .awaitsStatus(let trust):
                outcome = .awaitsStatus(trust)
                return true
            case .refused(let refusal):
                outcome = .refused(refusal)
                return false
            }
        }
    }

    /// Judges a path that had to wait for the OCSP status; false ends the handshake.
    private func judgeStatus(_ ssl: OpaquePointer) -> Bool {
        switch outcome {
        case .trusted: return true
        case .notEvaluated, .refused: return false
        case .awaitsStatus(let trust):
            let judgement = ChainValidator.evaluate(
                status: ssl, of: trust, rule: terms.rule, recentResults: terms.recentResults, port: terms.port, isLast: terms.isLast)
            return state.withLock { outcome in
                switch judgement {
                case .success:
                    outcome = .trusted
                    return true
                case .failure(let refusal):
                    outcome = .refused(refusal)
                    return false
                }
            }
        }
    }
}
