import CLibCurl
import COpenSSL

/// Owns one libcurl easy handle, with the options that never change and the shape of the last request.
///
/// `@unchecked Sendable`: an easy handle may be used on any thread, but by one at a time: the one that holds the transfer.
final class CurlEasyHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
    /// The header lines of the request, which libcurl borrows until ``forgetRequest()``.
    let headers = CurlHeaderList()
    /// The transfer that libcurl's callbacks serve.
    ///
    /// Not retained, because the transfer retains this handle for as long as libcurl may call.
    unowned(unsafe) var transfer: CurlTransfer?
    /// The options set in addition to the fixed ones; nil when there are none, or when libcurl accepted only a part.
    private var shape: CurlRequestShape?
    /// Whether the handle does not even offer HTTP/2.
    private(set) var isHTTP1Only = false
    private var opensNewConnection = false
    /// Whether libcurl formats its verbose text for this request.
    private(set) var isListening = false
    /// Whether libcurl goes on with the request's content after a status of 300 or more.
    private(set) var keepsSending = false
    /// Whether options beyond the fixed ones may be set, if only by a shape that libcurl accepted in part.
    private var isShaped = false

    init() throws(TransportError) {
        guard let pointer = curl_easy_init() else {
            throw TransportError(.internalError, "libcurl could not make a handle; the process may be out of memory")
        }
        self.pointer = pointer
        try setFixedOptions()
    }

    deinit { curl_easy_cleanup(pointer) }

    /// Gives the handle the options of a request.
    ///
    /// Changes nothing when the last request had the same shape. Otherwise resets all options first, so that none of an earlier request can
    /// linger.
    func take(shape wanted: CurlRequestShape) throws(TransportError) {
        guard shape != wanted else { return }
        shape = nil
        if isShaped {
            isHTTP1Only = false
            isListening = false
            curl_easy_reset(pointer)
            try setFixedOptions()
        }
        isShaped = true
        try wanted.apply(to: self)
        shape = wanted
    }

    /// Chooses between HTTP/1.1 alone and HTTP/2 where the server speaks it.
    func speak(onlyHTTP1: Bool) throws(TransportError) {
        guard isHTTP1Only != onlyHTTP1 else { return }
        try set(CURLOPT_HTTP_VERSION, Int(onlyHTTP1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS))
        isHTTP1Only = onlyHTTP1
    }

    /// Whether the request is about to go out over a reused connection that carries no other request.
    ///
    /// Readable bytes on such a connection mean that the server is closing it: a TLS close_notify can arrive seconds before the
    /// connection's end.
    var isOnIdleHTTP1Connection: Bool {
        var newConnections = 0
        guard clibcurl_get_long(pointer, CURLINFO_NUM_CONNECTS, &newConnections) == CURLE_OK, newConnections == 0 else { return false }
        return !isOnHTTP2Connection
    }

    /// Whether the connection that carries the request speaks HTTP/2.
    var isOnHTTP2Connection: Bool {
        guard let ssl = clibcurl_get_ssl(pointer) else { return false }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(OpaquePointer(ssl), &name, &length)
        return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("h2".utf8)
    }

    /// Keeps libcurl from ending the request's content early after a status of 300 or more.
    ///
    /// Over HTTP/2, libcurl ends it as if it were complete; a server that knows its length then resets the stream, and SwiftNIO's gives up the
    /// connection. Called before libcurl acts on the head of the response.
    func keepSendingAfterRefusal() {
        clibcurl_set_long(pointer, CURLOPT_KEEP_SENDING_ON_ERROR, 1)
        keepsSending = true
    }

    /// Takes back what ``keepSendingAfterRefusal()`` set.
    func forgetRefusal() {
        guard keepsSending else { return }
        clibcurl_set_long(pointer, CURLOPT_KEEP_SENDING_ON_ERROR, 0)
        keepsSending = false
    }

    /// Makes libcurl hand its verbose text about this request to ``CurlTransfer/hear(_:)``, until the request ends.
    func listen() {
        guard !isListening else { return }
        isListening = true
        clibcurl_set_long(pointer, CURLOPT_VERBOSE, 1)
    }

    /// Makes libcurl open a new connection for this request.
    func openNewConnection() throws(TransportError) {
        try set(CURLOPT_FRESH_CONNECT, 1)
        opensNewConnection = true
    }

    /// Clears what belongs to the finished request.
    func forgetRequest() {
        transfer = nil
        if opensNewConnection {
            clibcurl_set_long(pointer, CURLOPT_FRESH_CONNECT, 0)
            opensNewConnection = false
        }
        if isListening {
            clibcurl_set_long(pointer, CURLOPT_VERBOSE, 0)
            isListening = false
        }
        forgetRefusal()
        clibcurl_set_list(pointer, CURLOPT_HTTPHEADER, nil)
        headers.clear()
        if shape?.content == .small { clibcurl_set_pointer(pointer, CURLOPT_COPYPOSTFIELDS, nil) }
    }

    /// Frees the content of a response that libcurl held during a pause and never handed out; the handle is of no use afterwards.
    ///
    /// Before 8.1, libcurl does so only at the end of a transfer that has its connection for itself (multi_done in lib/multi.c), and leaks
    /// up to 64 MiB otherwise. The transfer here is one, and needs no network.
    func freeHeldContent() {
        curl_easy_reset(pointer)
        shape = nil
        clibcurl_set_string(pointer, CURLOPT_URL, "file:///dev/null")
        clibcurl_set_long(pointer, CURLOPT_NOBODY, 1)
        clibcurl_set_long(pointer, CURLOPT_NOSIGNAL, 1)
        _ = curl_easy_perform(pointer)
    }

    func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
        try check(clibcurl_set_long(pointer, option, value), option)
    }

    func setLarge(_ option: CURLoption, _ value: Int) throws(TransportError) {
        try check(clibcurl_set_large(pointer, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, _ value: String?) throws(TransportError) {
        guard let value else { return try check(clibcurl_set_string(pointer, option, nil), option) }
        // libcurl copies the text. An implicit conversion would copy it once more.
        try check(value.withCString { clibcurl_set_string(pointer, option, $0) }, option)
    }

    func setPointer(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) throws(TransportError) {
        try check(clibcurl_set_pointer(pointer, option, value), option)
    }

    func set(_ option: CURLoption, _ value: UnsafeMutablePointer<curl_slist>?) throws(TransportError) {
        try check(clibcurl_set_list(pointer, option, value), option)
    }

    /// Throws unless libcurl accepted the option: no option may fail silently (without the trust hook a host is not pinned).
    func check(_ code: CURLcode, _ option: CURLoption) throws(TransportError) {
        guard code != CURLE_OK else { return }
        throw TransportError(
            code == CURLE_OUT_OF_MEMORY ? .internalError : .unsupported,
            "this libcurl refused option \(option.rawValue) (\(String(cString: curl_easy_strerror(code)))), so nothing was sent; install a newer libcurl"
        )
    }
}
