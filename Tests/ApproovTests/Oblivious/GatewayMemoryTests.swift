import HTTPClient
import Testing

@testable import Approov

@Suite("What is remembered of gateways")
struct GatewayMemoryTests {
    private let memory = GatewayMemory()

    private func relay(_ name: String) throws -> TransportURL { try TransportURL("https://\(name).test/") }

    @Test("a gateway that refused chunks is asked again after a while, and what it understood it goes on understanding until it refuses")
    func chunks() throws {
        let relay = try relay("relay")
        #expect(memory.chunks(behind: relay, now: .zero) == nil)
        memory.note(.wanted, behind: relay, now: .zero)
        #expect(memory.chunks(behind: relay, now: .zero) == .wanted)
        memory.note(.refused, behind: relay, now: .zero)
        memory.note(.wanted, behind: relay, now: .seconds(1))
        #expect(memory.chunks(behind: relay, now: .seconds(599)) == .refused)
        #expect(memory.chunks(behind: relay, now: .seconds(600)) == nil)
        memory.note(.understood, behind: relay, now: .seconds(600))
        memory.note(.wanted, behind: relay, now: .seconds(601))
        #expect(memory.chunks(behind: relay, now: .seconds(9_999)) == .understood)
        memory.note(.refused, behind: relay, now: .seconds(10_000))
        #expect(memory.chunks(behind: relay, now: .seconds(10_001)) == .refused)
    }

    @Test("each relay has its own: what is noted of one is not said of another, and forgets nothing of it")
    func relays() throws {
        memory.note(.understood, behind: try relay("own"), now: .zero)
        memory.note(.refused, behind: try relay("configured"), now: .zero)
        #expect(memory.chunks(behind: try relay("own"), now: .zero) == .understood)
        #expect(memory.chunks(behind: try relay("configured"), now: .zero) == .refused)
        #expect(memory.chunks(behind: try relay("other"), now: .zero) == nil)
    }

    @Test("one relay can be forgotten, and the others are as they were")
    func forgotten() throws {
        for name in ["own", "configured"] { memory.note(.understood, behind: try relay(name), now: .zero) }
        memory.forget(try relay("own"))
        #expect(memory.chunks(behind: try relay("own"), now: .zero) == nil)
        #expect(memory.chunks(behind: try relay("configured"), now: .zero) == .understood)
    }

    @Test("of more than sixteen relays the one noted longest ago is dropped")
    func bounded() throws {
        for number in 0..<16 { memory.note(.understood, behind: try relay("relay\(number)"), now: .zero) }
        memory.note(.understood, behind: try relay("relay0"), now: .zero)
        memory.note(.wanted, behind: try relay("relay16"), now: .zero)
        #expect(memory.chunks(behind: try relay("relay1"), now: .zero) == nil)
        for number in [0] + Array(2...15) { #expect(memory.chunks(behind: try relay("relay\(number)"), now: .zero) == .understood) }
        #expect(memory.chunks(behind: try relay("relay16"), now: .zero) == .wanted)
    }
}
