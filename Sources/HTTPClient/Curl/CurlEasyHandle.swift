import CLibCurl
import COpenSSL
import Synchronization

/// Owns one libcurl easy handle, with the options that never change and the shape of the last request.
///
/// `@unchecked Sendable`: an easy handle may be used on any thread, by one at a time; whoever holds the transfer is that one.
final class CurlEasyHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
    /// The transfer that libcurl's callbacks serve.
    ///
    /// It holds the handle for as long as libcurl may call.
    unowned(unsafe) var transfer: CurlTransfer?
    /// What is set beside the fixed options; nil when nothing is.
    private var shape: CurlRequestShape?
    /// Whether HTTP/2 is not even offered.
    private(set) var isHTTP1Only = false
    private var connectsAnew = false
    /// Whether more than the fixed options may be set: also after a shape that libcurl took only in part.
    private var isShaped = false

    init() throws(TransportError) {
        guard let pointer = curl_easy_init() else {
            throw TransportError(.internalError, "libcurl could not make a handle; the process may be out of memory")
        }
        self.pointer = pointer
        try setFixedOptions()
    }

    deinit { curl_easy_cleanup(pointer) }

    /// Brings the handle to a request's shape: nothing to do where the last request had the same one, anew otherwise, so that no
    /// option of an earlier request can linger.
    func take(shape wanted: CurlRequestShape) throws(TransportError) {
        guard shape != wanted else { return }
        shape = nil
        if isShaped {
            isHTTP1Only = false
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

    /// Whether the request is about to go out over a connection that was used before and that nobody else uses now.
    ///
    /// What a server sends there is the end: a TLS close_notify comes seconds before the connection's own end.
    var isOnIdleHTTP1Connection: Bool {
        var newConnections = 0
        guard clibcurl_get_long(pointer, CURLINFO_NUM_CONNECTS, &newConnections) == CURLE_OK, newConnections == 0 else { return false }
        guard let ssl = clibcurl_get_ssl(pointer) else { return true }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(OpaquePointer(ssl), &name, &length)
        return UnsafeBufferPointer(start: name, count: Int(length)).elementsEqual("http/1.1".utf8) || length == 0
    }

    /// Lets no connection be used again for this request.
    func connectAnew() throws(TransportError) {
        try set(CURLOPT_FRESH_CONNECT, 1)
        connectsAnew = true
    }

    /// Lets go of what belongs to the request that is over.
    func forgetRequest() {
        transfer = nil
        if connectsAnew {
            clibcurl_set_long(pointer, CURLOPT_FRESH_CONNECT, 0)
            connectsAnew = false
        }
        clibcurl_set_list(pointer, CURLOPT_HTTPHEADER, nil)
        if shape?.content == .small { clibcurl_set_pointer(pointer, CURLOPT_COPYPOSTFIELDS, nil) }
    }

    func set(_ option: CURLoption, _ value: Int) throws(TransportError) {
        try check(clibcurl_set_long(pointer, option, value), option)
    }

    func setLarge(_ option: CURLoption, _ value: Int) throws(TransportError) {
        try check(clibcurl_set_large(pointer, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, _ value: String?) throws(TransportError) {
        try check(clibcurl_set_string(pointer, option, value), option)
    }

    func setPointer(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) throws(TransportError) {
        try check(clibcurl_set_pointer(pointer, option, value), option)
    }

    func set(_ option: CURLoption, _ value: UnsafeMutablePointer<curl_slist>?) throws(TransportError) {
        try check(clibcurl_set_list(pointer, option, value), option)
    }

    /// Every option is load-bearing here (a trust hook that was not set is a host that is not pinned), so each result is looked at.
    func check(_ code: CURLcode, _ option: CURLoption) throws(TransportError) {
        guard code != CURLE_OK else { return }
        throw TransportError(
            code == CURLE_OUT_OF_MEMORY ? .internalError : .unsupported,
            "this libcurl refused option \(option.rawValue) (\(String(cString: curl_easy_strerror(code)))); the request was not sent")
    }
}

/// Easy handles that are kept for the next request: to make one and set its options costs more than the request's other work.
final class CurlEasyHandlePool: Sendable {
    private static let capacity = 128
    private let idle = Mutex<[CurlEasyHandle]>([])

    func take() throws(TransportError) -> CurlEasyHandle {
        if let handle = idle.withLock({ $0.popLast() }) { return handle }
        return try CurlEasyHandle()
    }

    func give(back handle: CurlEasyHandle) {
        handle.forgetRequest()
        idle.withLock { idle in
            if idle.count < Self.capacity { idle.append(handle) }
        }
    }
}
