import CLibCurl
import Synchronization

/// Owns one libcurl easy handle.
///
/// `@unchecked Sendable`: an easy handle may be used on any thread, by one at a time; whoever holds the transfer is that one.
final class CurlEasyHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    init?() {
        guard let pointer = curl_easy_init() else { return nil }
        self.pointer = pointer
    }

    deinit { curl_easy_cleanup(pointer) }

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

/// Easy handles that are kept for the next request: to reset one costs a fraction of making one.
final class CurlEasyHandlePool: Sendable {
    private static let capacity = 128
    private let idle = Mutex<[CurlEasyHandle]>([])

    func take() throws(TransportError) -> CurlEasyHandle {
        if let handle = idle.withLock({ $0.popLast() }) { return handle }
        guard let handle = CurlEasyHandle() else {
            throw TransportError(.internalError, "libcurl could not make a handle; the process may be out of memory")
        }
        return handle
    }

    func give(back handle: CurlEasyHandle) {
        curl_easy_reset(handle.pointer)
        idle.withLock { idle in
            if idle.count < Self.capacity { idle.append(handle) }
        }
    }
}
