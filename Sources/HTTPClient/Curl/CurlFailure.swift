import CLibCurl
import CertificatePinning
import Glibc

/// Translates libcurl's result codes into errors.
enum CurlFailure {
    static func error(_ code: CURLcode, of transfer: CurlTransfer) -> TransportError {
        // If a connection ends without a response, libcurl opens a second connection. If it then refuses the server, the error must not say
        // that nothing was sent, because the caller would send the request again under other rules.
        if transfer.wasSent, !transfer.isIdempotent, isRefusal(code) {
            return TransportError(
                .connectionLost,
                "the connection ended before a response came, and the TLS handshake of the next one failed; the server may have processed"
                    + " the request, so it is not sent again")
        }
        let fate = transfer.wasSent ? "the request had been sent on an earlier connection" : "nothing was sent"
        if let hook = transfer.hook, case .refused(let refusal) = hook.outcome, isHandshake(code) {
            return TransportError(.trustRefused, "the server's certificate was refused; \(fate)", cause: refusal)
        }
        if let alert = transfer.certificateAlert(after: code) { return refusedClient(alert, of: transfer) }
        let reason = String(cString: curl_easy_strerror(code))
        switch code {
        case CURLE_UNSUPPORTED_PROTOCOL where transfer.wasSent:
            return TransportError(.malformedResponse, "the response is not HTTP/1.1 or later; check the port")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return TransportError(.invalidURL, "libcurl cannot request this URL: \(reason)")
        case CURLE_COULDNT_RESOLVE_HOST:
            return TransportError(.hostUnresolved, "the host name \(transfer.url.host) has no address; check the name and the name server")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return TransportError(
                .hostUnresolved, "the host name of the proxy \(transfer.peer) has no address; check the proxy configuration")
        case CURLE_COULDNT_CONNECT where transfer.hasRefusedAddress:
            return .refusedAddress(of: transfer.url)
        case CURLE_COULDNT_CONNECT where transfer.hasNoDescriptor:
            return TransportError(
                .internalError,
                "the system has no descriptor for a connection to \(transfer.peer); raise the limit of open files (ulimit -n)")
        case CURLE_COULDNT_CONNECT:
            return TransportError(.connectionFailed, "no server accepted the connection to \(transfer.peer); is it running and reachable?")
        case CURLE_PROXY:
            return TransportError(.connectionFailed, "the proxy \(transfer.peer) refused the connection; check the proxy configuration")
        case CURLE_OPERATION_TIMEDOUT:
            return TransportError(
                .connectTimeout, "no connection to \(transfer.peer) was made within the connect timeout; is the server reachable?")
        case _ where isVerification(code):
            return TransportError(
                .trustRefused,
                "libcurl refused the server's certificate (\(reason)), and \(fate); show its chain with"
                    + " `approov pin -get HOST:PORT`")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_USE_SSL_FAILED:
            return TransportError(
                .tlsFailed,
                "the TLS handshake with \(transfer.server) failed: \(reason); does the server speak TLS 1.2 or later on this port?")
        case CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION:
            return TransportError(.unsupported, "this libcurl does not support the request: \(reason)")
        case CURLE_SEND_FAIL_REWIND:
            return TransportError(
                .connectionLost,
                "the connection ended while the request was sent; the server may have processed it, so it is not sent again")
        case CURLE_OUT_OF_MEMORY where transfer.wasSent && !transfer.isHeadComplete,
            CURLE_RECV_ERROR where transfer.hasTooManyHeaderBytes:
            return TransportError(
                .headerTooLarge,
                "the response's header section is larger than libcurl accepts: 102400 bytes for a line, 307200 bytes in all")
        case CURLE_OUT_OF_MEMORY where transfer.wasPaused:
            // libcurl holds at most 64 MiB of decoded content during a pause (DYN_PAUSE_BUFFER).
            return TransportError(
                .bodyTooLarge,
                "the response's content became more than 64 MiB at once when it was decompressed; set decompresses to false, and decompress it "
                    + "in steps")
        case CURLE_RECV_ERROR where transfer.proxyRefusal != nil:
            return TransportError(
                .connectionFailed,
                "the proxy refused to connect to the host, with status \(transfer.proxyRefusal ?? 0); ask the proxy's operator to allow it"
            )
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM,
            CURLE_AGAIN:
            return TransportError(.connectionLost, "the connection to \(transfer.server) ended before the response was complete: \(reason)")
        case CURLE_BAD_CONTENT_ENCODING:
            return TransportError(.malformedResponse, "the response's content encoding is invalid, or was not offered")
        case CURLE_WEIRD_SERVER_REPLY:
            return TransportError(.malformedResponse, "the response is not valid HTTP: \(reason)")
        case CURLE_READ_ERROR, CURLE_ABORTED_BY_CALLBACK:
            return TransportError(.requestBodyFailed, "the request's body could not be read")
        default:
            return TransportError(.internalError, "libcurl: \(reason) (\(code.rawValue))")
        }
    }

    /// The error for a transfer that did not end in time.
    static func totalTimeout(of transfer: CurlTransfer) -> TransportError {
        let state = transfer.wasSent ? "did not end" : "was not sent"
        return TransportError(
            .totalTimeout, "the request to \(transfer.server) \(state) within its total timeout; raise the timeout, or check the server")
    }

    /// The error for a transfer on which nothing moved.
    static func idleTimeout(of transfer: CurlTransfer) -> TransportError {
        let time = transfer.options.idleTimeout
        guard transfer.wasSent else {
            return TransportError(
                .idleTimeout,
                "the request had no connection to \(transfer.server) for \(time), so nothing was sent; check the server, or raise the idle "
                    + "timeout or the number of connections")
        }
        return TransportError(
            .idleTimeout,
            "no byte was sent to \(transfer.server) or received from it for \(time); check the server, or raise the idle timeout")
    }

    /// How HTTP/2 broke down, if HTTP/2 is what failed.
    ///
    /// libcurl returns CURLE_HTTP2 for a GOAWAY that excludes the stream, CURLE_HTTP2_STREAM for RST_STREAM, and other codes for
    /// connections that end or break otherwise (tried with 7.88, with and without TLS close_notify).
    static func http2Breakdown(_ code: CURLcode) -> HTTP2Breakdown? {
        switch code {
        case CURLE_HTTP2: .connection
        case CURLE_HTTP2_STREAM: .stream
        default: nil
        }
    }

    /// The error for a server that ended the connection because of the client's certificate, or because there was none.
    private static func refusedClient(_ alert: CertificateAlert, of transfer: CurlTransfer) -> TransportError {
        let problem =
            transfer.terms?.rule.clientIdentity == nil
            ? "it probably requires a client certificate, and the host's rule has none; add one with presenting(_:)"
            : "it probably refused the client certificate; check that it is valid and from a CA that the server trusts"
        return TransportError(.tlsFailed, "the server ended the connection with TLS alert \(alert.rawValue); \(problem)")
    }

    fileprivate static func isHandshake(_ code: CURLcode) -> Bool {
        code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR || code == CURLE_SSL_CERTPROBLEM
    }

    /// Whether libcurl itself refused the server's certificate.
    private static func isVerification(_ code: CURLcode) -> Bool {
        [CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS].contains(code)
    }

    private static func isRefusal(_ code: CURLcode) -> Bool { isHandshake(code) || isVerification(code) }
}

extension TransportError {
    /// The error for a host whose address is not public.
    static func refusedAddress(of url: TransportURL) -> TransportError {
        TransportError(
            .addressRefused, "\(url.host) has an address that is not public, and this request refuses those; check the host's name servers")
    }
}

extension CurlTransfer {
    /// The server of the URL, for messages.
    var server: String { Self.place(url.host, url.port) }

    /// The server that the transfer connects to, for messages: the proxy, or the server of the URL.
    fileprivate var peer: String { options.proxy.map { Self.place($0.host, $0.port) } ?? server }

    private static func place(_ host: CanonicalHost, _ port: Int) -> String { "\(host) port \(port)" }

    /// Whether the system gave no socket because the process or the system has too many descriptors.
    fileprivate var hasNoDescriptor: Bool { [EMFILE, ENFILE].contains(socketError) }

    /// The alert about the client's certificate that explains a result; nil when there is none.
    ///
    /// With TLS 1.3 the client's handshake is over when the server judges its certificate, so the alert looks like a lost connection. Over
    /// HTTP/2 the connection may be lost before libcurl reads the alert, and then none is known.
    fileprivate func certificateAlert(after code: CURLcode) -> CertificateAlert? {
        // The newest connection: one that was made for this transfer, or else one from the pool.
        guard !isHeadComplete, let alert = (hook ?? connection)?.certificateAlert else { return nil }
        switch code {
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2: return alert
        // During the handshake, this alert can also mean that both sides have no algorithm in common.
        case _ where CurlFailure.isHandshake(code): return alert == .handshakeFailure ? nil : alert
        default: return nil
        }
    }

    /// Whether libcurl counted more bytes of header lines than it accepts (MAX_HTTP_RESP_HEADER_SIZE); it has no result code for that.
    fileprivate var hasTooManyHeaderBytes: Bool {
        var count = 0
        return clibcurl_get_long(easy.pointer, CURLINFO_HEADER_SIZE, &count) == CURLE_OK && count > 307_200
    }

    /// The proxy's status when it refused CONNECT; nil otherwise.
    fileprivate var proxyRefusal: Int? {
        var status = 0
        guard options.proxy != nil, !wasSent, clibcurl_get_long(easy.pointer, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK
        else { return nil }
        return status >= 300 ? status : nil
    }
}
