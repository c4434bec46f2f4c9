import CLibCurl

// What libcurl 7.88 reports about the end of a response over HTTP/2:
//
// - With Content-Length, libcurl and the library below it count the bytes.
// - Without it, only END_STREAM says that the response is complete, and libcurl shows it nowhere: no option, callback, CURLINFO or line of
//   its verbose text depends on it (lib/http2.c). A connection that ends, a GOAWAY that excludes the stream, and RST_STREAM with an error
//   are errors. RST_STREAM with NO_ERROR before END_STREAM, which RFC 9113, section 8.1 allows only after a complete response, looks like
//   END_STREAM: nghttp2 reports both as a stream that was closed without an error. OpenSSL's callbacks see records, not content.
// - When the server gives up a connection (GOAWAY with an error, reported only in libcurl's verbose text), libcurl may treat a stream as
//   ended although it has not delivered the content (cf_h2_recv: "already marked for closure, return OK"). So an empty response whose
//   connection broke down is not believed.
extension CurlTransfer {
    /// Whether an HTTP/2 response that libcurl reports as complete brought no content and did not declare that it has none.
    var isEmptyOverHTTP2: Bool { isHeadComplete && bodyBytes == 0 && mayHaveContent && isOverHTTP2 && declaredBytes < 0 }

    /// Whether the response says how long it is.
    var isLengthKnown: Bool { declaredBytes >= 0 || !mayHaveContent }

    /// Whether all of the response has come, although its stream may not have ended.
    var isComplete: Bool { isHeadComplete && (!mayHaveContent || receivedBytes == declaredBytes) }

    /// Whether libcurl has reset the stream of a complete response; see ``ResetWatch``.
    var wasReset: Bool { isOverHTTP2 && (isRefused || declaredBytes <= 0 || !mayHaveContent) }

    /// Whether the response came over HTTP/2.
    var isOverHTTP2: Bool {
        var version = 0
        return clibcurl_get_long(easy.pointer, CURLINFO_HTTP_VERSION, &version) == CURLE_OK && version == Int(CURL_HTTP_VERSION_2_0)
    }

    /// Whether the response comes over HTTP/2, as far as its version is known.
    var mayBeOverHTTP2: Bool { isHeadComplete ? isOverHTTP2 : !easy.isHTTP1Only }

    /// The response's Content-Length; -1 when it has none.
    private var declaredBytes: Int64 {
        var declared = Int64(-1)
        clibcurl_get_large(easy.pointer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &declared)
        return declared
    }

    /// The bytes of the content that have come, before they are decoded.
    private var receivedBytes: Int64 {
        var received = Int64(0)
        clibcurl_get_large(easy.pointer, CURLINFO_SIZE_DOWNLOAD_T, &received)
        return received
    }

    /// Reads a line of libcurl's verbose text, which may say that the server has given up the connection of this transfer.
    ///
    /// The line is "recveived GOAWAY, error=11, last_stream=0" in 7.88; other versions spell it better.
    func hear(_ line: UnsafeBufferPointer<UInt8>) {
        // Skips most lines quickly.
        guard line.count > 20, line[0] == UInt8(ascii: "r"), line[1] == UInt8(ascii: "e"), line[2] == UInt8(ascii: "c") else { return }
        let text = String(decoding: line, as: UTF8.self)
        guard let error = text.firstRange(of: "GOAWAY, error=")?.upperBound, !text[error...].hasPrefix("0,") else { return }
        TrustHook.ofConnection(carrying: easy.pointer)?.serverGaveUp()
    }

    /// Why a response that libcurl reports as complete is not; nil when it is complete.
    var missingEnd: TransportError? {
        guard isHeadComplete, mayHaveContent else { return nil }
        if isDoubtful {
            return Self.lost(
                "the server ended the connection with an error (GOAWAY), and the response has neither Content-Length nor content")
        }
        let declared = declaredBytes
        if declared >= 0 {
            let received = receivedBytes
            return received == declared ? nil : Self.lost("Content-Length announced \(declared) bytes, and \(received) came")
        }
        var version = 0
        clibcurl_get_long(easy.pointer, CURLINFO_HTTP_VERSION, &version)
        switch version {
        case Int(CURL_HTTP_VERSION_1_0), Int(CURL_HTTP_VERSION_1_1): return missingClosure
        default: return nil
        }
    }

    /// The error for a body that only the end of the connection delimits, without close_notify: it may have been cut off (RFC 9112, section
    /// 9.8).
    private var missingClosure: TransportError? {
        guard let connection, !connection.hasServerClosed, !ResponseHeadParser.isChunked(head) else { return nil }
        return Self.lost("it has neither Content-Length nor chunks, and the server did not end it with TLS's close_notify")
    }

    /// Whether content may follow the head (RFC 9110, section 6.4.1).
    var mayHaveContent: Bool {
        var status = 0
        clibcurl_get_long(easy.pointer, CURLINFO_RESPONSE_CODE, &status)
        return !isHead && status != 204 && status != 304
    }

    private static func lost(_ reason: String) -> TransportError {
        TransportError(.connectionLost, "the connection ended before the response was complete: \(reason)")
    }
}
