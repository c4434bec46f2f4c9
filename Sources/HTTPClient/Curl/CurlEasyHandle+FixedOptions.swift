import CLibCurl
import Glibc

extension CurlEasyHandle {
    /// Sets the options that hold for every request, and the callbacks by which libcurl reaches ``transfer``.
    func setFixedOptions() throws(TransportError) {
        // No signals: name look-up timeouts must not use SIGALRM in a threaded program.
        try set(CURLOPT_NOSIGNAL, 1)
        // A request that ends during its name look-up leaves the look-up running: waiting for it would stop all other requests.
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try set(CURLOPT_PATH_AS_IS, 1)
        // HTTP/2 over TLS where the server speaks it; see speak(onlyHTTP1:).
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // Wait for a connection that is being made, to multiplex over it, instead of opening one for each request.
        try set(CURLOPT_PIPEWAIT, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        // Keeps the request's fields out of CONNECT: they are for the server, not for the proxy.
        try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        try setTrustOptions()
        try setCallbacks()
        try setSocketCallback()
        try setTextCallback()
    }

    /// Sets the callback for libcurl's verbose text, which ``listen()`` switches on; the text is passed on to no log.
    private func setTextCallback() throws(TransportError) {
        try check(
            clibcurl_set_debug_function(pointer) { _, kind, text, count, handle in
                guard kind == CURLINFO_TEXT, let text, let transfer = CurlEasyHandle.transfer(of: handle) else { return 0 }
                text.withMemoryRebound(to: UInt8.self, capacity: count) { transfer.hear(UnsafeBufferPointer(start: $0, count: count)) }
                return 0
            }, CURLOPT_DEBUGFUNCTION)
        try setPointer(CURLOPT_DEBUGDATA, Unmanaged.passUnretained(self).toOpaque())
    }

    private func setTrustOptions() throws(TransportError) {
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        // The trust hook demands TLS 1.2, or more where openssl.cnf does: here, libcurl would lower the system's minimum to TLS 1.2.
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_DEFAULT))
        try set(CURLOPT_SSL_SESSIONID_CACHE, 0)
        // The roots come from the trust hook alone; libcurl would add those in its own paths (CAINFO does not clear CAPATH).
        try set(CURLOPT_CAINFO, nil as String?)
        try set(CURLOPT_CAPATH, nil as String?)
        try check(
            clibcurl_set_ssl_ctx_function(pointer) { _, context, handle in
                guard let context, let transfer = CurlEasyHandle.transfer(of: handle) else { return CURLE_SSL_CERTPROBLEM }
                return transfer.connectionWillHandshake(OpaquePointer(context)) ? CURLE_OK : CURLE_SSL_CERTPROBLEM
            }, CURLOPT_SSL_CTX_FUNCTION)
        try setPointer(CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
    }

    private func setCallbacks() throws(TransportError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try setPointer(CURLOPT_PRIVATE, context)
        try check(
            clibcurl_set_prereq_function(pointer) { handle, address, _, port, localPort in
                CurlEasyHandle.transfer(of: handle)?.mayBeSent(from: localPort, to: address, port: port) == true
                    ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            }, CURLOPT_PREREQFUNCTION)
        try setPointer(CURLOPT_PREREQDATA, context)
        try check(
            clibcurl_set_data_function(pointer, CURLOPT_HEADERFUNCTION) { line, size, count, handle in
                guard let line, let transfer = CurlEasyHandle.transfer(of: handle) else { return 0 }
                let whole = size * count
                let received = line.withMemoryRebound(to: UInt8.self, capacity: whole) {
                    transfer.receiveHeader(UnsafeBufferPointer(start: $0, count: whole))
                }
                return received ? whole : 0
            }, CURLOPT_HEADERFUNCTION)
        try setPointer(CURLOPT_HEADERDATA, context)
        try check(
            clibcurl_set_data_function(pointer, CURLOPT_WRITEFUNCTION) { part, size, count, handle in
                guard let part, let transfer = CurlEasyHandle.transfer(of: handle) else { return 0 }
                let whole = size * count
                let action = part.withMemoryRebound(to: UInt8.self, capacity: max(whole, 1)) {
                    transfer.receiveBody(UnsafeBufferPointer(start: $0, count: whole))
                }
                switch action {
                case .taken: return whole
                case .pause: return Int(CURL_WRITEFUNC_PAUSE)
                case .fail: return whole == 0 ? 1 : 0  // any other count than `whole` ends the transfer
                }
            }, CURLOPT_WRITEFUNCTION)
        try setPointer(CURLOPT_WRITEDATA, context)
    }

    /// Sets the callbacks of a streamed request body.
    ///
    /// Only for a streamed body, because libcurl would call them even when the content is bytes in memory.
    func setUploadCallbacks() throws(TransportError) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        try check(
            clibcurl_set_data_function(pointer, CURLOPT_READFUNCTION) { buffer, size, count, handle in
                guard let buffer, let transfer = CurlEasyHandle.transfer(of: handle) else { return Int(CURL_READFUNC_ABORT) }
                return transfer.sendBody(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
            }, CURLOPT_READFUNCTION)
        try setPointer(CURLOPT_READDATA, context)
        try check(
            clibcurl_set_seek_function(pointer) { handle, offset, origin in
                guard let transfer = CurlEasyHandle.transfer(of: handle), offset == 0, origin == SEEK_SET else {
                    return CURL_SEEKFUNC_FAIL
                }
                return transfer.rewindBody() ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
            }, CURLOPT_SEEKFUNCTION)
        try setPointer(CURLOPT_SEEKDATA, context)
    }

    private func setSocketCallback() throws(TransportError) {
        try check(
            clibcurl_set_opensocket_function(pointer) { handle, _, address in
                guard let address, let transfer = CurlEasyHandle.transfer(of: handle) else { return CURL_SOCKET_BAD }
                let count = Int(address.pointee.addrlen)
                guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr),
                    transfer.mayConnect(to: UnsafeRawPointer(address) + offset, count: count)
                else { return CURL_SOCKET_BAD }
                return transfer.makeSocket(address.pointee.family, address.pointee.socktype, address.pointee.protocol)
            }, CURLOPT_OPENSOCKETFUNCTION)
        try setPointer(CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
    }

    /// The transfer behind the pointer that libcurl hands to every callback.
    static func transfer(of handle: UnsafeMutableRawPointer?) -> CurlTransfer? {
        guard let handle else { return nil }
        return Unmanaged<CurlEasyHandle>.fromOpaque(handle)._withUnsafeGuaranteedRef { $0.transfer }
    }
}
