internal import ApproovBase
internal import COpenSSL
internal import Foundation

/// Converts names, times and errors of OpenSSL to Swift values.
enum OpenSSLText {
    /// A distinguished name on one line (RFC 2253), control characters escaped, at most 256 characters.
    static func name(_ name: OpaquePointer?) -> String {
        guard let name, let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        guard COpenSSL_print_name(bio, name) >= 0 else { return "" }
        return contents(of: bio, limit: 256)
    }

    /// The text that was printed into a memory BIO, escaped and cut to `limit` characters.
    static func contents(of bio: OpaquePointer, limit: Int) -> String {
        var bytes: UnsafePointer<UInt8>?
        let count = COpenSSL_memory_bio(bio, &bytes)
        // Enough bytes for the limit; decoding the rest of such a long name is wasted work.
        let text = String(decoding: UnsafeBufferPointer(start: bytes, count: max(0, min(count, limit * 4))), as: UTF8.self)
        return LoggableText.quoted(text, limit: limit)
    }

    /// A time of a certificate; nil when it is malformed.
    static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(timegm(&parts)))
    }

    /// The oldest error of this thread's queue; empties the queue so that the next call does not find it.
    static func takeError() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        return reason(code)
    }

    /// The newest error of this thread's queue, which stays there for the caller that set a mark in it.
    static func peekError() -> String { reason(ERR_peek_last_error()) }

    private static func reason(_ code: UInt) -> String {
        guard code != 0, let reason = ERR_reason_error_string(code) else { return "OpenSSL gives no details" }
        return String(cString: reason)
    }
}
