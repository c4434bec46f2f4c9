import CLibCurl
import CertificatePinning
import HTTPTypes

extension CurlTransfer {
    /// Tells libcurl everything about the request.
    ///
    /// The rules that must hold for every request stand first (design: TLS rules).
    func configure(_ request: TransportRequest, library: CurlLibrary) throws(TransportError) {
        try setInvariants()
        try setTrust()
        try setTarget(request)
        try setTimeouts()
        try setProxy()
        try setContent(request)
        try setHeaders(request, library: library)
        try setCallbacks()
    }

    private func setInvariants() throws(TransportError) {
        // No signals: name look-up timeouts must not use SIGALRM in a threaded program.
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.set(CURLOPT_FOLLOWLOCATION, 0)
        try easy.set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try easy.set(CURLOPT_PATH_AS_IS, 1)
        try easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // Wait for a connection that is being made, to multiplex over it, instead of opening one for each request.
        try easy.set(CURLOPT_PIPEWAIT, 1)
        try easy.set(CURLOPT_TCP_KEEPALIVE, 1)
    }

    private func setTrust() throws(TransportError) {
        try easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        // Only a rule that validates nothing (DisabledTrustEvaluator) goes without the host's name.
        try easy.set(CURLOPT_SSL_VERIFYHOST, terms?.rule.validatesPath == false ? 0 : 2)
        try easy.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        // The roots come from the trust hook alone; libcurl's own paths would be added to them (CAINFO does not clear CAPATH).
        try easy.set(CURLOPT_CAINFO, nil as String?)
        try easy.set(CURLOPT_CAPATH, nil as String?)
        guard terms != nil else { return }
        try easy.check(
            clibcurl_set_ssl_ctx_function(easy.pointer) { _, context, pointer in
                guard let context, let pointer else { return CURLE_SSL_CERTPROBLEM }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
                return transfer.connectionWillHandshake(OpaquePointer(context)) ? CURLE_OK : CURLE_SSL_CERTPROBLEM
            }, CURLOPT_SSL_CTX_FUNCTION)
        try easy.setPointer(CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
    }

    private func setTarget(_ request: TransportRequest) throws(TransportError) {
        try easy.set(CURLOPT_PROTOCOLS_STR, request.url.isSecure ? "https" : "http")
        try easy.set(CURLOPT_URL, request.url.text)
    }

    private func setTimeouts() throws(TransportError) {
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout.wholeMilliseconds)
        if let total = options.totalTimeout { try easy.set(CURLOPT_TIMEOUT_MS, total.wholeMilliseconds) }
    }

    private func setProxy() throws(TransportError) {
        guard let proxy = options.proxy else {
            // An empty string, not nil: nil lets libcurl read the environment.
            try easy.set(CURLOPT_PROXY, "")
            try easy.set(CURLOPT_NOPROXY, "*")
            return
        }
        guard (1...65_535).contains(proxy.port) else {
            throw TransportError(.unsupported, "a proxy's port must be a number from 1 to 65535")
        }
        let scheme =
            switch proxy.kind {
            case .http: "http"
            case .socks5: "socks5h"
            }
        try easy.set(CURLOPT_PROXY, "\(scheme)://\(proxy.host.urlText):\(proxy.port)")
        try easy.set(CURLOPT_NOPROXY, "")
        // The request's fields are for the server; a proxy sees none of them in CONNECT.
        try easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
    }

    private func setContent(_ request: TransportRequest) throws(TransportError) {
        let method = request.method.rawValue
        switch upload.source {
        case .none where request.method == .get:
            try easy.set(CURLOPT_HTTPGET, 1)
            return
        case .none where request.method == .head:
            try easy.set(CURLOPT_NOBODY, 1)
            return
        case .none where ["POST", "PUT", "PATCH"].contains(method):
            // Methods that give content a meaning say that there is none (RFC 9110 section 8.6).
            try easy.set(CURLOPT_POST, 1)
            try easy.setLarge(CURLOPT_POSTFIELDSIZE_LARGE, 0)
            try easy.set(CURLOPT_COPYPOSTFIELDS, "")
        case .none:
            break
        case .bytes(let bytes) where bytes.count <= 16_384 && options.onUpload == nil:
            try easy.set(CURLOPT_POST, 1)
            try easy.setLarge(CURLOPT_POSTFIELDSIZE_LARGE, bytes.count)
            let code = bytes.withUnsafeBytes {
                clibcurl_set_pointer(easy.pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
            try easy.check(code, CURLOPT_COPYPOSTFIELDS)
        case .bytes, .file, .stream:
            try easy.set(CURLOPT_UPLOAD, 1)
            try easy.setLarge(CURLOPT_INFILESIZE_LARGE, upload.length ?? -1)
            try easy.set(CURLOPT_UPLOAD_BUFFERSIZE, 65_536)
            try setUploadCallbacks()
        }
        try easy.set(CURLOPT_CUSTOMREQUEST, method)
    }

    private func setUploadCallbacks() throws(TransportError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try easy.check(
            clibcurl_set_data_function(easy.pointer, CURLOPT_READFUNCTION) { buffer, size, count, pointer in
                guard let buffer, let pointer else { return Int(CURL_READFUNC_ABORT) }
                return Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
                    .sendBody(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
            }, CURLOPT_READFUNCTION)
        try easy.setPointer(CURLOPT_READDATA, context)
        try easy.check(
            clibcurl_set_seek_function(easy.pointer) { pointer, offset, origin in
                guard let pointer, offset == 0, origin == SEEK_SET else { return CURL_SEEKFUNC_FAIL }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
                // Nothing of it has gone out, or sending it again does no harm.
                guard transfer.upload.sent == 0 || transfer.isIdempotent else { return CURL_SEEKFUNC_FAIL }
                return transfer.upload.rewind() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
            }, CURLOPT_SEEKFUNCTION)
        try easy.setPointer(CURLOPT_SEEKDATA, context)
    }

    private func setHeaders(_ request: TransportRequest, library: CurlLibrary) throws(TransportError) {
        var list: UnsafeMutablePointer<curl_slist>?
        func append(_ line: String) throws(TransportError) {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                throw TransportError(.internalError, "libcurl could not keep a header field; the process may be out of memory")
            }
            list = longer
        }
        var hasContentType = false
        var hasAcceptEncoding = false
        for field in request.headerFields {
            switch field.name.canonicalName {
            case "content-length": continue
            case "host" where field.value.lowercased() == request.url.authority: continue
            case "host", "transfer-encoding", "connection", "upgrade", "te", "proxy-authorization", "expect":
                curl_slist_free_all(list)
                throw TransportError(.invalidHeader, "the header field \(field.name) is the transport's own; take it off the request")
            case "content-type": hasContentType = true
            case "accept-encoding": hasAcceptEncoding = true
            default: break
            }
            // libcurl's notation for a field without a value.
            try append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        // libcurl would add these on its own.
        if !hasContentType { try append("Content-Type:") }
        try append("Expect:")
        if let list { borrowedLists.append(list) }
        try easy.set(CURLOPT_HTTPHEADER, list)
        if upload.offersDecoding, !hasAcceptEncoding { try easy.set(CURLOPT_ACCEPT_ENCODING, library.contentEncodings) }
    }

    private func setCallbacks() throws(TransportError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try easy.setPointer(CURLOPT_PRIVATE, context)
        try easy.check(
            clibcurl_set_prereq_function(easy.pointer) { pointer, _, _, _, _ in
                guard let pointer else { return CURL_PREREQFUNC_ABORT }
                return Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue().mayBeSent()
                    ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            }, CURLOPT_PREREQFUNCTION)
        try easy.setPointer(CURLOPT_PREREQDATA, context)
        try easy.check(
            clibcurl_set_data_function(easy.pointer, CURLOPT_HEADERFUNCTION) { line, size, count, pointer in
                guard let line, let pointer else { return 0 }
                let whole = size * count
                let received = line.withMemoryRebound(to: UInt8.self, capacity: whole) {
                    Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
                        .receiveHeader(UnsafeBufferPointer(start: $0, count: whole))
                }
                return received ? whole : 0
            }, CURLOPT_HEADERFUNCTION)
        try easy.setPointer(CURLOPT_HEADERDATA, context)
        try easy.check(
            clibcurl_set_data_function(easy.pointer, CURLOPT_WRITEFUNCTION) { part, size, count, pointer in
                guard let part, let pointer else { return 0 }
                let whole = size * count
                let action = part.withMemoryRebound(to: UInt8.self, capacity: max(whole, 1)) {
                    Unmanaged<CurlTransfer>.fromOpaque(pointer).takeUnretainedValue()
                        .receiveBody(UnsafeBufferPointer(start: $0, count: whole))
                }
                switch action {
                case .taken: return whole
                case .pause: return Int(CURL_WRITEFUNC_PAUSE)
                case .fail: return whole == 0 ? 1 : 0  // any other count than `whole` ends the transfer
                }
            }, CURLOPT_WRITEFUNCTION)
        try easy.setPointer(CURLOPT_WRITEDATA, context)
    }

    /// Fills libcurl's buffer with the next bytes of the request's content.
    private func sendBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        touch()
        switch upload.read(into: buffer) {
        case .bytes(let count):
            if count > 0 { options.onUpload?(TransferProgress(completed: upload.sent, total: upload.length)) }
            return count
        case .pause: return Int(CURL_READFUNC_PAUSE)
        case .fail: return Int(CURL_READFUNC_ABORT)
        }
    }
}

extension TransportURL {
    /// Host and port as the `Host` field spells them.
    var authority: String {
        port == (isSecure ? 443 : 80) ? host.urlText : "\(host.urlText):\(port)"
    }
}

extension Duration {
    /// For libcurl's timeouts, where 0 would mean "none": at least 1, at most what its 32 bits hold.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
