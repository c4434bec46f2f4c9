import Testing

@testable import HTTPClient

@Suite struct HTTP1OnlyOriginsTests {
    private let origin = "https://a.test:443"

    @Test("A connection breakdown moves its origin, and no other, to HTTP/1.1 for ten minutes")
    func connection() {
        var origins = HTTP1OnlyOrigins()
        origins.note(.connection, with: origin, now: 10)
        let within = origins.contains(origin, now: 10 + HTTP1OnlyOrigins.duration - 1)
        let other = origins.contains("https://b.test:443", now: 11)
        let after = origins.contains(origin, now: 10 + HTTP1OnlyOrigins.duration)
        #expect(HTTP1OnlyOrigins.duration == 600_000_000_000)
        #expect(within)
        #expect(!other)
        #expect(!after)
        #expect(origins.isEmpty)
    }

    @Test("Four broken streams in a row move the origin to HTTP/1.1, and fewer do not")
    func streams() {
        var origins = HTTP1OnlyOrigins()
        for number in 1...4 {
            origins.note(.stream, with: origin, now: UInt64(number))
            let isHTTP1Only = origins.contains(origin, now: 10)
            #expect(isHTTP1Only == (number == 4))
        }
    }

    @Test("A response between broken streams resets their count")
    func response() {
        var origins = HTTP1OnlyOrigins()
        for _ in 0..<20 {
            for _ in 0..<3 { origins.note(.stream, with: origin, now: 1) }
            origins.noteResponse(from: origin)
        }
        let isHTTP1Only = origins.contains(origin, now: 2)
        #expect(!isHTTP1Only)
        #expect(origins.isEmpty)
    }

    @Test("Broken streams far apart do not move the origin to HTTP/1.1")
    func farApart() {
        var origins = HTTP1OnlyOrigins()
        var now: UInt64 = 1
        for _ in 0..<20 {
            origins.note(.stream, with: origin, now: now)
            now += HTTP1OnlyOrigins.suspicion
            let isHTTP1Only = origins.contains(origin, now: now)
            #expect(!isHTTP1Only)
        }
    }

    @Test("A response after a connection breakdown does not move the origin back to HTTP/2")
    func lateResponse() {
        var origins = HTTP1OnlyOrigins()
        origins.note(.connection, with: origin, now: 1)
        origins.noteResponse(from: origin)
        let isHTTP1Only = origins.contains(origin, now: 2)
        #expect(isHTTP1Only)
    }

    @Test("Of 5,000 origins that break down, the newest is kept and the oldest is dropped")
    func bounded() {
        var origins = HTTP1OnlyOrigins()
        for number in 0..<5_000 { origins.note(.connection, with: "https://\(number).test:443", now: UInt64(number)) }
        let oldest = origins.contains("https://0.test:443", now: 5_000)
        let newest = origins.contains("https://4999.test:443", now: 5_000)
        #expect(!oldest)
        #expect(newest)
    }
}
