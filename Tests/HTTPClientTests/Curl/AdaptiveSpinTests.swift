import Testing

@testable import HTTPClient

@Suite struct AdaptiveSpinTests {
    /// A decision after some waits, in nanoseconds, with a limit of 100.
    private func isWorthwhile(after waits: [UInt64], limit: UInt64 = 100) -> Bool {
        var spin = AdaptiveSpin(limit: limit)
        for wait in waits { spin.note(wait) }
        return spin.isWorthwhile
    }

    @Test("It begins after about thirty short waits")
    func begin() {
        #expect(!isWorthwhile(after: []))
        #expect(!isWorthwhile(after: Array(repeating: 30, count: 15)))
        #expect(isWorthwhile(after: Array(repeating: 30, count: 30)))
    }

    @Test("One long wait ends it, and thirty short ones begin it again")
    func end() {
        let short = Array(repeating: UInt64(30), count: 100)
        #expect(!isWorthwhile(after: short + [1_000_000_000]))
        #expect(isWorthwhile(after: short + [1_000_000_000] + short.prefix(30)))
    }

    @Test("A rest ends it, and thirty short waits begin it again")
    func rest() {
        var spin = AdaptiveSpin(limit: 100)
        for _ in 0..<100 { spin.note(30) }
        spin.rest()
        #expect(!spin.isWorthwhile)
        for _ in 0..<30 { spin.note(30) }
        #expect(spin.isWorthwhile)
    }

    @Test("It never begins while waits are longer than half of what it may last, or when every fifth one is long")
    func longWaits() {
        #expect(isWorthwhile(after: Array(repeating: 50, count: 1_000)))
        for wait: UInt64 in [60, 90, 110] { #expect(!isWorthwhile(after: Array(repeating: wait, count: 1_000))) }
        let mixed = (1...1_000).map { $0.isMultiple(of: 5) ? UInt64(1_000_000) : 30 }
        #expect((996...1_000).allSatisfy { !isWorthwhile(after: Array(mixed.prefix($0))) })
    }

    @Test("With limit 0 it never begins")
    func off() {
        #expect(!isWorthwhile(after: Array(repeating: 0, count: 1_000), limit: 0))
    }
}

@Suite struct DriverSpinsTests {
    private let short = [UInt64](repeating: 30, count: 150)

    @Test("With a fast server, the waits for a server and for a caller spin, each after about thirty short ones")
    func fast() {
        var spins = DriverSpins(limit: 100)
        for wait in short { spins.note(wait, whileIdle: false) }
        #expect(spins.areWorthwhile(whileIdle: false) && !spins.areWorthwhile(whileIdle: true))
        for wait in short { spins.note(wait, whileIdle: true) }
        #expect(spins.areWorthwhile(whileIdle: true))
        spins.rest()
        #expect(!spins.areWorthwhile(whileIdle: false) && !spins.areWorthwhile(whileIdle: true))
    }

    @Test("With a slow server, the wait for a caller is a sleep, however soon the next request comes")
    func slow() {
        var spins = DriverSpins(limit: 100)
        for wait in short {
            spins.note(280, whileIdle: false)
            spins.note(wait, whileIdle: true)
        }
        #expect(!spins.areWorthwhile(whileIdle: false) && !spins.areWorthwhile(whileIdle: true))
    }
}
