/// The origins that get only HTTP/1.1 for a while, because HTTP/2 broke down with them.
///
/// libcurl 7.88 sends RST_STREAM on many HTTP/2 streams whose response is complete: on every stream without Content-Length, and on a stream
/// whose END_STREAM it has not read yet. Servers on SwiftNIO (Hummingbird, Vapor) treat 200 resets in 30 seconds as an attack and end the
/// connection, with everything under way on it (GOAWAY, ENHANCE_YOUR_CALM). One such end is enough to switch, because the next connection
/// would fare no better.
///
/// A single stream that the server resets says nothing about the others, because a handler may have failed. Only several resets in a row,
/// without an HTTP/2 response between them, count. A server that demands HTTP/1.1 causes them (HTTP_1_1_REQUIRED). Connections that break
/// without GOAWAY are common and do not count.
struct HTTP1OnlyOrigins {
    /// How long an origin gets HTTP/1.1, in nanoseconds.
    static let duration: UInt64 = 600_000_000_000
    /// How many broken streams in a row mean that HTTP/2 does not work.
    static let brokenStreamLimit = 4
    /// How long broken streams are remembered after the last one, in nanoseconds.
    static let suspicion: UInt64 = 60_000_000_000
    private static let capacity = 1_024

    private struct Entry {
        var brokenStreams = 0
        /// False while too few streams are broken.
        var isHTTP1Only = false
        /// When the origin is forgotten.
        var end: UInt64
    }

    private var entries: [String: Entry] = [:]
    /// When the first entry ends, or earlier.
    private var nextEnd: UInt64 = .max

    /// Whether no origin is remembered, which is the usual case.
    var isEmpty: Bool { entries.isEmpty }

    /// Whether an origin gets only HTTP/1.1.
    mutating func contains(_ origin: @autoclosure () -> String, now: UInt64) -> Bool {
        // Saves building the origin's text.
        guard !entries.isEmpty else { return false }
        if now >= nextEnd { purge(now: now) }
        return entries[origin()]?.isHTTP1Only == true
    }

    /// Notes that HTTP/2 broke down with an origin.
    mutating func note(_ breakdown: HTTP2Breakdown, with origin: String, now: UInt64) {
        if entries.count >= Self.capacity, entries[origin] == nil, let oldest = entries.min(by: { $0.value.end < $1.value.end }) {
            entries[oldest.key] = nil
        }
        var entry = entries[origin] ?? Entry(end: 0)
        switch breakdown {
        case .connection: entry.isHTTP1Only = true
        case .stream:
            entry.brokenStreams += 1
            if entry.brokenStreams >= Self.brokenStreamLimit { entry.isHTTP1Only = true }
        }
        entry.end = max(entry.end, now + (entry.isHTTP1Only ? Self.duration : Self.suspicion))
        entries[origin] = entry
        nextEnd = min(nextEnd, entry.end)
    }

    /// Notes that an origin responded over HTTP/2.
    mutating func noteResponse(from origin: String) {
        // An origin that gets HTTP/1.1 keeps it: the response was under way when its connection broke down.
        if entries[origin]?.isHTTP1Only == false { entries[origin] = nil }
    }

    private mutating func purge(now: UInt64) {
        entries = entries.filter { now < $0.value.end }
        nextEnd = entries.values.map(\.end).min() ?? .max
    }
}
