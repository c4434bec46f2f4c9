import HTTPClient
import Testing

@testable import Approov

@Suite("The memory of gateways")
struct GatewayMemoryTests {
    private let memory = GatewayMemory()

    private func relay(_ name: String) throws -> TransportURL { try TransportURL("https://\(name).test/") }

    @Test("The memory keeps `.refused` for ten minutes and `.understood` until a refusal, and `.wanted` overwrites neither")
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

    @Test("Each relay has its own entry, and noting one does not affect another")
    func relays() throws {
        memory.note(.understood, behind: try relay("own"), now: .zero)
        memory.note(.refused, behind: try relay("configured"), now: .zero)
        #expect(memory.chunks(behind: try relay("own"), now: .zero) == .understood)
        #expect(memory.chunks(behind: try relay("configured"), now: .zero) == .refused)
        #expect(memory.chunks(behind: try relay("other"), now: .zero) == nil)
    }

    @Test("Forgetting one relay does not affect the others")
    func forgotten() throws {
        for name in ["own", "configured"] { memory.note(.understood, behind: try relay(name), now: .zero) }
        memory.forget(try relay("own"))
        #expect(memory.chunks(behind: try relay("own"), now: .zero) == nil)
        #expect(memory.chunks(behind: try relay("configured"), now: .zero) == .understood)
    }

    @Test("Beyond sixteen relays, the memory drops the relay that was noted longest ago")
    func bounded() throws {
        for number in 0..<16 { memory.note(.understood, behind: try relay("relay\(number)"), now: .zero) }
        memory.note(.understood, behind: try relay("relay0"), now: .zero)
        memory.note(.wanted, behind: try relay("relay16"), now: .zero)
        #expect(memory.chunks(behind: try relay("relay1"), now: .zero) == nil)
        for number in [0] + Array(2...15) { #expect(memory.chunks(behind: try relay("relay\(number)"), now: .zero) == .understood) }
        #expect(memory.chunks(behind: try relay("relay16"), now: .zero) == .wanted)
    }
}
