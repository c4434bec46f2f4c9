import Foundation
import Testing

@testable import ApproovServer

@Suite struct ReplayWindowTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000.5)

    private func window(_ change: (inout GatewayConfiguration.Replay) -> Void = { _ in }) -> ReplayWindow {
        var settings = GatewayConfiguration.Replay()
        change(&settings)
        return ReplayWindow(settings, startedAt: start, uptime: .zero)
    }

    private func judge(_ window: ReplayWindow, _ key: UInt8, date: Double?, at seconds: Double, keyID: UInt8 = 1) -> ReplayWindow.Verdict {
        window.judge(
            encapsulatedKey: [key], keyID: keyID,
            date: date.map { Date(timeIntervalSince1970: start.timeIntervalSince1970.rounded(.down) + $0) },
            now: start + seconds, uptime: .seconds(Int(seconds)))
    }

    @Test("a dated request is fresh once for as long as its date is accepted, on both sides of every turn")
    func dated() {
        let window = window()
        for second in stride(from: 0, to: 600, by: 7) {
            let key = UInt8(second / 7)
            // As far ahead as may be, so that it is accepted for the longest time.
            let date = Double(second + 5)
            #expect(judge(window, key, date: date, at: Double(second)) == .fresh)
            #expect(judge(window, key, date: date, at: Double(second)) == .replayed)
            #expect(judge(window, key, date: date, at: Double(second + 60)) == .replayed)
            #expect(judge(window, key, date: date, at: Double(second + 64)) == .replayed)
        }
    }

    @Test("a date outside of the window, too far ahead, or up to the second of the start is not accepted")
    func outside() {
        let window = window()
        #expect(judge(window, 1, date: 1, at: 0) == .fresh)
        #expect(judge(window, 2, date: 0, at: 0) == .dateNeeded)
        #expect(judge(window, 3, date: 7, at: 0) == .dateNeeded)
        #expect(judge(window, 4, date: 1, at: 62) == .dateNeeded)
        // What the gateway itself names is one that it takes.
        let named = window.acceptableDate(start)
        #expect(window.judge(encapsulatedKey: [5], keyID: 1, date: named, now: start, uptime: .zero) == .fresh)
        #expect(window.count == 2)
    }

    @Test("a request without a date is remembered until its key goes")
    func undated() {
        let window = window()
        #expect(judge(window, 1, date: nil, at: 0) == .fresh)
        #expect(judge(window, 1, date: nil, at: 1_000_000) == .replayed)
        #expect(judge(window, 1, date: 1, at: 0) == .replayed)
        window.forget(keysOtherThan: [1, 2])
        #expect(judge(window, 1, date: nil, at: 1_000_000) == .replayed)
        window.forget(keysOtherThan: [2])
        #expect(window.count == 0)
    }

    @Test("what is full refuses, and forgets nothing before its time")
    func full() {
        let window = window {
            $0.rememberedDated = 2
            $0.rememberedUndated = 1
        }
        #expect(judge(window, 1, date: 1, at: 0) == .fresh)
        #expect(judge(window, 2, date: 1, at: 0) == .fresh)
        #expect(judge(window, 3, date: 1, at: 0) == .full)
        #expect(judge(window, 1, date: 1, at: 1) == .replayed)
        #expect(judge(window, 4, date: nil, at: 0) == .fresh)
        #expect(judge(window, 5, date: nil, at: 0) == .dateNeeded)
        #expect(judge(window, 4, date: nil, at: 0) == .replayed)
        // Two lives later there is room again.
        #expect(judge(window, 6, date: 400, at: 400) == .fresh)
        #expect(judge(window, 7, date: 400, at: 400) == .fresh)
    }

    @Test("requests without a date are refused where dates are required")
    func required() {
        let window = window { $0.requiresDate = true }
        #expect(judge(window, 1, date: nil, at: 0) == .dateNeeded)
        #expect(window.count == 0)
    }
}
