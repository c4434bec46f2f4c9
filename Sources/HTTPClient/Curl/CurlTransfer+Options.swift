import CLibCurl
import CertificatePinning
import HTTPTypes

extension CurlTransfer {
    /// Sets the options, the fields and the content of the request on the easy handle.
    func configure(_ request: TransportRequest, library: CurlLibrary) throws(TransportError) {
        try easy.take(shape: CurlRequestShape(request, upload: upload, verifiesHost: terms?.rule.validatesPath ?? true, library: library))
        easy.transfer = self
        try easy.set(CURLOPT_URL, request.url.text)
        try setHeaders(request)
        if case .bytes(let bytes) = upload.source { try setSmallContent(bytes) }
    }

    private func setSmallContent(_ bytes: [UInt8]) throws(TransportError) {
        guard bytes.count <= CurlRequestShape.smallLimit, options.onUpload == nil else { return }
        try easy.setLarge(CURLOPT_POSTFIELDSIZE_LARGE, bytes.count)
        // An empty array may have no address, and without one libcurl would call the upload callbacks.
        guard !bytes.isEmpty else { return try easy.set(CURLOPT_COPYPOSTFIELDS, "") }
        let code = bytes.withUnsafeBytes {
            clibcurl_set_pointer(easy.pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
        }
        try easy.check(code, CURLOPT_COPYPOSTFIELDS)
    }

    private func setHeaders(_ request: TransportRequest) throws(TransportError) {
        let headers = easy.headers
        let fields = request.headerFields
        // By index, because an iterator copies each whole field.
        for index in fields.indices {
            let name = fields[index].name
            guard try isSent(name, fields[index].value, to: request.url) else { continue }
            // Byte for byte: a value need not be UTF-8 (RFC 9110, section 5.5). The semicolon is libcurl's notation for a field without a value.
            fields[index].withUnsafeBytesOfValue { headers.add(name.rawName, $0.isEmpty ? ";" : ": ", $0) }
        }
        // Without a value, libcurl leaves out what it would add itself; the last two only when there is content, or could be.
        if !request.headerFields.scan(for: .accept) { headers.add("Accept", ":") }
        if upload.hasContent || (request.method != .get && request.method != .head) {
            if !request.headerFields.scan(for: .contentType) { headers.add("Content-Type", ":") }
            headers.add("Expect", ":")
        }
        try easy.set(CURLOPT_HTTPHEADER, headers.link())
    }

    /// Whether a field goes to libcurl, which sets some itself.
    private func isSent(
        _ name: HTTPField.Name, _ value: @autoclosure () -> String, to url: TransportURL
    ) throws(TransportError) -> Bool {
        let canonical = name.canonicalName
        // Most names differ in their lengths already, which are compared faster than texts.
        switch canonical.utf8.count {
        case 2 where canonical == "te", 6 where canonical == "expect", 7 where canonical == "upgrade", 10 where canonical == "connection",
            17 where canonical == "transfer-encoding", 19 where canonical == "proxy-authorization":
            break
        case 4 where canonical == "host": if value().lowercased() == url.authority { return false }
        case 14 where canonical == "content-length": return false
        default: return true
        }
        throw TransportError(.invalidHeader, "the transport sets the header field \(name) itself; remove it from the request")
    }

    /// Fills libcurl's buffer with the next bytes of the request's content.
    func sendBody(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        touch()
        // libcurl forgets a pause that began before the request.
        guard suspendedAt == nil else { return Int(CURL_READFUNC_PAUSE) }
        switch upload.read(into: buffer) {
        case .bytes(let count):
            if count > 0 { options.onUpload?(TransferProgress(completed: upload.sent, total: upload.length)) }
            if count == 0 || upload.sent == upload.length { loop?.contentIsTaken(of: self) }
            return count
        case .pause: return Int(CURL_READFUNC_PAUSE)
        case .fail: return Int(CURL_READFUNC_ABORT)
        }
    }

    /// Goes back to the start of the content, if none of it has gone out or the request is idempotent.
    func rewindBody() -> Bool {
        (upload.sent == 0 || isIdempotent) && upload.rewind()
    }
}
