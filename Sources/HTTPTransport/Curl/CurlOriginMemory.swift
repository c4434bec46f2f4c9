/// The origins with which HTTP/2 broke down lately, and that are spoken to over HTTP/1.1 for a while.
///
/// libcurl 7.88 ends many HTTP/2 streams whose response is whole with RST_STREAM: every one without Content-Length, and others whose
/// END_STREAM it has not read yet. Servers on SwiftNIO (Hummingbird, Vapor) take 200 of these in 30 seconds for an attack
/// and end the connection, with everything that is under way on it (GOAWAY, ENHANCE_YOUR_CALM).
struct CurlOriginMemory {
    /// How long an origin is spared, in nanoseconds.
    static let duration: UInt64 = 3_600_000_000_000
    private static let capacity = 1_024

    private var until: [String: UInt64] = [:]

    /// Whether HTTP/1.1 is to be spoken with an origin.
    mutating func prefersHTTP1(_ origin: @autoclosure () -> String, now: UInt64) -> Bool {
        // Mostly there is nothing to look up, and no reason to spell the origin out.
        guard !until.isEmpty else { return false }
        let origin = origin()
        guard let end = until[origin] else { return false }
        guard end > now else {
            until[origin] = nil
            return false
        }
        return true
    }

    /// Notes that HTTP/2 broke down.
    mutating func spare(_ origin: String, now: UInt64) {
        if until.count >= Self.capacity, until[origin] == nil, let oldest = until.min(by: { $0.value < $1.value }) {
            until[oldest.key] = nil
        }
        until[origin] = now + Self.duration
    }
}
