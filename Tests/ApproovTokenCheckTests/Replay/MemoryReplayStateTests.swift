import Testing

@testable import ApproovTokenCheck

@Suite struct MemoryReplayStateTests {
    private static let now: Int64 = 1_000_000

    @Test("The first use is recorded, each later one is known until its end and after it")
    func once() {
        var state = MemoryReplayState(capacity: 10)
        let end = Self.now + 90
        #expect(state.consume("a", of: "x", until: end, now: Self.now) == .recorded)
        for now in [Self.now, end - 1, end, end + 1, end + 100_000, Self.now] {
            #expect(state.consume("a", of: "x", until: end, now: now) == .usedBefore, "\(now)")
        }
    }

    @Test("Issuer and identifier together name a token, and its end does not")
    func key() {
        var state = MemoryReplayState(capacity: 10)
        #expect(state.consume("a", of: "x", until: Self.now + 90, now: Self.now) == .recorded)
        #expect(state.consume("a", of: "y", until: Self.now + 90, now: Self.now) == .recorded)
        #expect(state.consume("a", of: nil, until: Self.now + 90, now: Self.now) == .recorded)
        #expect(state.consume("b", of: "x", until: Self.now + 90, now: Self.now) == .recorded)
        // Two texts that would be equal if issuer and identifier were only joined.
        #expect(state.consume("ya", of: "", until: Self.now + 90, now: Self.now) == .recorded)
        #expect(state.consume("a", of: "x", until: Self.now + 120, now: Self.now) == .usedBefore)
        #expect(state.consume("a", of: "x", until: Self.now + 60, now: Self.now) == .usedBefore)
    }

    @Test("A full store refuses new tokens, still knows the old ones, and has room after their end and no earlier")
    func full() {
        var state = MemoryReplayState(capacity: 2)
        #expect(state.consume("a", of: nil, until: Self.now + 10, now: Self.now) == .recorded)
        #expect(state.consume("b", of: nil, until: Self.now + 20, now: Self.now) == .recorded)
        #expect(state.consume("c", of: nil, until: Self.now + 30, now: Self.now) == .full)
        #expect(state.consume("a", of: nil, until: Self.now + 10, now: Self.now) == .usedBefore)
        #expect(state.consume("c", of: nil, until: Self.now + 30, now: Self.now + 9) == .full)
        #expect(state.consume("c", of: nil, until: Self.now + 30, now: Self.now + 10) == .recorded)
        #expect(state.count == 2)
        #expect(state.consume("d", of: nil, until: Self.now + 30, now: Self.now + 19) == .full)
        #expect(state.consume("b", of: nil, until: Self.now + 20, now: Self.now + 19) == .usedBefore)
        #expect(state.consume("d", of: nil, until: Self.now + 30, now: Self.now + 20) == .recorded)
    }

    @Test("After the clock was ahead and is set back, tokens whose records were removed stay refused, and later ones pass")
    func setBack() {
        var state = MemoryReplayState(capacity: 10)
        #expect(state.consume("a", of: nil, until: Self.now + 90, now: Self.now) == .recorded)
        #expect(state.consume("b", of: nil, until: Self.now + 4_000, now: Self.now + 3_600) == .recorded)
        #expect(state.consume("a", of: nil, until: Self.now + 90, now: Self.now) == .usedBefore)
        // As old as a removed record: nothing tells whether it was used.
        #expect(state.consume("c", of: nil, until: Self.now + 90, now: Self.now) == .usedBefore)
        #expect(state.consume("c", of: nil, until: Self.now + 91, now: Self.now + 1) == .recorded)
        #expect(state.consume("b", of: nil, until: Self.now + 4_000, now: Self.now) == .usedBefore)
    }

    @Test("One call removes a bounded number of records")
    func steps() {
        let most = MemoryReplayState.removalsPerCall
        var state = MemoryReplayState(capacity: 10 * most)
        for number in 0..<(2 * most) {
            #expect(state.consume("\(number)", of: nil, until: Self.now + Int64(number % 7), now: Self.now - 1) == .recorded)
        }
        #expect(state.consume("x", of: nil, until: Self.now + 200, now: Self.now + 100) == .recorded)
        #expect(state.count == most + 1)
        // Records that are not yet removed do not pass either.
        for number in 0..<14 {
            #expect(state.consume("\(number)", of: nil, until: Self.now + Int64(number % 7), now: Self.now + 100) == .usedBefore)
        }
        #expect(state.consume("y", of: nil, until: Self.now + 200, now: Self.now + 100) == .recorded)
        #expect(state.count == 2)
    }
}
