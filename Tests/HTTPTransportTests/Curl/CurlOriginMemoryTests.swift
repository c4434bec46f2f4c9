import Testing

@testable import HTTPTransport

@Suite struct CurlOriginMemoryTests {
    @Test("an origin is spared for an hour, others are not")
    func spared() {
        var memory = CurlOriginMemory()
        memory.spare("https://a.test:443", now: 10)
        let within = memory.prefersHTTP1("https://a.test:443", now: 10 + CurlOriginMemory.duration - 1)
        let other = memory.prefersHTTP1("https://b.test:443", now: 11)
        let after = memory.prefersHTTP1("https://a.test:443", now: 10 + CurlOriginMemory.duration)
        #expect(within)
        #expect(!other)
        #expect(!after)
    }

    @Test("however many origins break down, the memory stays bounded and keeps the newest")
    func bounded() {
        var memory = CurlOriginMemory()
        for number in 0..<5_000 { memory.spare("https://\(number).test:443", now: UInt64(number)) }
        let oldest = memory.prefersHTTP1("https://0.test:443", now: 5_000)
        let newest = memory.prefersHTTP1("https://4999.test:443", now: 5_000)
        #expect(!oldest)
        #expect(newest)
    }
}
