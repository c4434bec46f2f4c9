import Testing

@testable import HTTPClient

@Suite struct CurlOriginMemoryTests {
    private let origin = "https://a.test:443"

    @Test("a connection that is given up spares its origin for ten minutes, and no other")
    func spared() {
        var memory = CurlOriginMemory()
        memory.note(.connection, with: origin, now: 10)
        let within = memory.prefersHTTP1(origin, now: 10 + CurlOriginMemory.duration - 1)
        let other = memory.prefersHTTP1("https://b.test:443", now: 11)
        let after = memory.prefersHTTP1(origin, now: 10 + CurlOriginMemory.duration)
        #expect(CurlOriginMemory.duration == 600_000_000_000)
        #expect(within)
        #expect(!other)
        #expect(!after)
        #expect(memory.isEmpty)
    }

    @Test("a broken stream alone changes nothing, four in a row do")
    func streams() {
        var memory = CurlOriginMemory()
        for number in 1...4 {
            memory.note(.stream, with: origin, now: UInt64(number))
            let prefersHTTP1 = memory.prefersHTTP1(origin, now: 10)
            #expect(prefersHTTP1 == (number == 4))
        }
    }

    @Test("a response between them shows that HTTP/2 works")
    func response() {
        var memory = CurlOriginMemory()
        for _ in 0..<20 {
            for _ in 0..<3 { memory.note(.stream, with: origin, now: 1) }
            memory.noteResponse(from: origin)
        }
        let prefersHTTP1 = memory.prefersHTTP1(origin, now: 2)
        #expect(!prefersHTTP1)
        #expect(memory.isEmpty)
    }

    @Test("broken streams far apart are not a row")
    func farApart() {
        var memory = CurlOriginMemory()
        var now: UInt64 = 1
        for _ in 0..<20 {
            memory.note(.stream, with: origin, now: now)
            now += CurlOriginMemory.suspicion
            let prefersHTTP1 = memory.prefersHTTP1(origin, now: now)
            #expect(!prefersHTTP1)
        }
    }

    @Test("a response that was under way does not take a breakdown back")
    func lateResponse() {
        var memory = CurlOriginMemory()
        memory.note(.connection, with: origin, now: 1)
        memory.noteResponse(from: origin)
        let prefersHTTP1 = memory.prefersHTTP1(origin, now: 2)
        #expect(prefersHTTP1)
    }

    @Test("however many origins break down, the memory stays bounded and keeps the newest")
    func bounded() {
        var memory = CurlOriginMemory()
        for number in 0..<5_000 { memory.note(.connection, with: "https://\(number).test:443", now: UInt64(number)) }
        let oldest = memory.prefersHTTP1("https://0.test:443", now: 5_000)
        let newest = memory.prefersHTTP1("https://4999.test:443", now: 5_000)
        #expect(!oldest)
        #expect(newest)
    }
}
