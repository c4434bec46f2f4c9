/// Counts the streams that libcurl resets on one HTTP/2 connection, so that the connection is replaced before its server gives it up.
///
/// A cancelled request resets its stream. libcurl 7.88 also resets the stream of every response that has no content, or no Content-Length,
/// although the server has ended the stream (http2_handle_stream_close in lib/http2.c). Servers limit resets (CVE-2023-44487): at 200
/// resets in 30 seconds, SwiftNIO ends the connection and every request on it. The driver replaces a connection after 50 resets in 30
/// seconds. Even with 49 resets in the previous window and 100 requests in flight (SwiftNIO's limit), the total is 199.
///
/// Used only by the thread that runs the loop.
struct ResetWatch {
    static let limit = 50
    /// In nanoseconds.
    static let window: UInt64 = 30_000_000_000
    private var count = 0
    private var windowEnd: UInt64 = 0

    /// Counts a reset.
    ///
    /// - Parameter now: The driver's time, in nanoseconds.
    /// - Returns: Whether the connection should be replaced.
    mutating func add(now: UInt64) -> Bool {
        if now >= windowEnd {
            count = 0
            windowEnd = now + Self.window
        }
        count += 1
        return count >= Self.limit
    }
}
