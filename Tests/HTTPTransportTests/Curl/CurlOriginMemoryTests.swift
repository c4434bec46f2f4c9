@testable import HTTPTransport
import Testing

@Suite struct CurlOriginMemoryTests {
    @Test("an origin is spared for an hour, others are not")
    func spared() {
        var memory = CurlOriginMemory()
        memory.spare("https://a.test:443", now: 10)
        #expect(memory.prefersHTTP1("https://a.test:443", now: 10 + CurlOriginMemory.duration - 1))
        #expect(!memory.prefersHTTP1("https://b.test:443", now: 11))
        #expect(!memory.prefersHTTP1("https://a.test:443", now: 10 + CurlOriginMemory.duration))
    }

    @Test("however many origins break down, the memory stays bounded and keeps the newest")
    func bounded() {
        var memory = CurlOriginMemory()
        for number in 0..<5_000 { memory.spare("https://\(number).test:443", now: UInt64(number)) }
        #expect(!memory.prefersHTTP1("https://0.test:443", now: 5_000))
        #expect(memory.prefersHTTP1("https://4999.test:443", now: 5_000))
    }
}
