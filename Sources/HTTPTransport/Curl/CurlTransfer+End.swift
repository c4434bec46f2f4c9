import CLibCurl

extension CurlTransfer {
    /// What a response lacks that libcurl takes for whole; nil when nothing is missing.
    var missingEnd: TransportError? {
        guard isHeadComplete, mayHaveContent else { return nil }
        var declared: Int64 = -1
        clibcurl_get_large(easy.pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &declared)
        if declared >= 0 {
            var received: Int64 = 0
            clibcurl_get_large(easy.pointer, CURLINFO_SIZE_DOWNLOAD_T, &received)
            return received == declared ? nil : Self.lost("\(received) of the \(declared) bytes that Content-Length announced were there")
        }
        var version = 0
        clibcurl_get_long(easy.pointer, CURLINFO_HTTP_VERSION, &version)
        switch version {
        case Int(CURL_HTTP_VERSION_1_0), Int(CURL_HTTP_VERSION_1_1): return missingClosure
        default: return nil
        }
    }

    /// Only the end of the connection says where such a body ends: without close_notify it may have been cut (RFC 9112 section 9.8).
    private var missingClosure: TransportError? {
        guard let connection, !connection.hasServerClosed, !ResponseHeadParser.isChunked(head) else { return nil }
        return Self.lost("it has neither Content-Length nor chunks, and the server did not end it with TLS's close_notify")
    }

    /// Whether content may follow on the head (RFC 9110 section 6.4.1).
    private var mayHaveContent: Bool {
        var status = 0
        clibcurl_get_long(easy.pointer, CURLINFO_RESPONSE_CODE, &status)
        return !isHead && status != 204 && status != 304
    }

    private static func lost(_ reason: String) -> TransportError {
        TransportError(.connectionLost, "the connection ended before the response was whole: \(reason)")
    }
}
