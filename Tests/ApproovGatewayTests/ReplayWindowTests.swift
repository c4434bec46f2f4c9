import Foundation
import Testing

@testable import ApproovGateway

@Suite struct ReplayWindowTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000.5)

    private func window(_ change: (inout GatewayConfiguration.Replay) -> Void = { _ in }) -> ReplayWindow {
        var settings = GatewayConfiguration.Replay()
        change(&settings)
        return ReplayWindow(settings, startedAt: start, uptime: .zero)
    }

    /// Judges a request; dates and times are in seconds from the second of the start.
    private func judge(
        _ window: ReplayWindow, _ key: Int, date: Double?, at seconds: Double, uptime: Double? = nil, keyID: UInt8 = 1
    ) -> ReplayWindow.Verdict {
        window.judge(
            encapsulatedKey: Array("\(key)".utf8), keyID: keyID, date: date.map(date(_:)), now: start + seconds,
            uptime: .seconds(uptime ?? seconds))
    }

    private func date(_ seconds: Double) -> Date {
        Date(timeIntervalSince1970: start.timeIntervalSince1970.rounded(.down) + seconds)
    }

    @Test("a dated request is fresh once, and a replay for as long as its date is accepted, whatever the window", arguments: [1, 2, 3, 60])
    func dated(seconds: Int) {
        let window = window { $0.window = .seconds(seconds) }
        for now in 0..<(seconds + 10) * 5 {
            // As far ahead as may be, so that it is accepted for the longest time, and as old as may be.
            let ahead = judge(window, now, date: Double(now + 5), at: Double(now))
            #expect(ahead == .fresh)
            let oldest = Double(now - seconds + 1)
            if oldest >= 1 { #expect(judge(window, -now, date: oldest, at: Double(now)) == .fresh, "\(now)") }
            for earlier in max(0, now - seconds * 3 - 30)...now {
                let isAccepted = now - earlier < seconds + 5
                let verdict = judge(window, earlier, date: Double(earlier + 5), at: Double(now))
                #expect(verdict == .replayed || (!isAccepted && verdict == .dateNeeded), "\(earlier) at \(now)")
            }
        }
    }

    @Test("a remembered message is a replay, also when its date has become too old")
    func late() {
        let window = window()
        #expect(judge(window, 1, date: 1, at: 0) == .fresh)
        #expect(judge(window, 1, date: 1, at: 63) == .replayed)
        #expect(judge(window, 1, date: 1, at: 100) == .replayed)
        #expect(judge(window, 2, date: 1, at: 100) == .dateNeeded)
        #expect(judge(window, 1, date: 1, at: 400) == .dateNeeded)
    }

    @Test("a request without a date that was sealed to a key which has ended is a replay: its mark is gone with the key")
    func endedKey() {
        let window = window()
        window.forget(keysOtherThan: [1, 2])
        #expect(judge(window, 1, date: nil, at: 0) == .fresh)
        window.forget(keysOtherThan: [2])
        #expect(judge(window, 1, date: nil, at: 0) == .replayed)
        #expect(judge(window, 3, date: nil, at: 0, keyID: 2) == .fresh)
        // One that is new is served before the window hears of it, and one that comes again is a new one.
        #expect(judge(window, 4, date: nil, at: 0, keyID: 3) == .fresh)
        window.forget(keysOtherThan: [1, 2])
        #expect(judge(window, 5, date: nil, at: 0) == .fresh)
    }

    @Test("marks are forgotten once their dates are too old, so that memory is bounded by the rate and not by time")
    func forgotten() {
        let window = window { $0.window = .seconds(10) }
        for now in 0..<1_000 { #expect(judge(window, now, date: Double(now + 1), at: Double(now)) == .fresh) }
        #expect(window.count <= 36)
    }

    @Test("a clock that is set back admits nothing again", arguments: [1, 3, 60], [30, 3_600, 86_400 * 400])
    func setBack(seconds: Int, by back: Int) {
        let jump = Double(back)
        let window = window { $0.window = .seconds(seconds) }
        let served = 0..<(seconds * 4 + 60)
        for second in served { #expect(judge(window, second, date: Double(second + 1), at: Double(second)) == .fresh) }
        let end = Double(served.upperBound)
        // Once more the calendar passes through all the dates that were served, and uptime goes on.
        var later = end
        while later - jump < end + 10 {
            let now = later - jump
            for second in served where abs(now - Double(second)) < Double(seconds) + 10 {
                #expect(judge(window, second, date: Double(second + 1), at: now, uptime: later) != .fresh, "\(second) at \(now)")
            }
            later = now < -Double(seconds) - 20 ? later + (-Double(seconds) - 20 - now) : later + 1
        }
    }

    @Test("while a clock is behind what is forgotten, the date that clients are told is accepted, and afterwards any that is right")
    func behind() {
        let window = window()
        for second in 0..<300 { #expect(judge(window, second, date: Double(second + 1), at: Double(second)) == .fresh) }
        #expect(!window.isAhead(of: start + 299))
        #expect(judge(window, 1_000, date: 300 - 3_600, at: 300 - 3_600, uptime: 300) == .dateNeeded)
        let behind = start + (300 - 3_600)
        #expect(window.isAhead(of: behind))
        let told = window.acceptableDate(behind)
        #expect(
            window.judge(encapsulatedKey: [1], keyID: 1, date: told, now: behind, uptime: .seconds(300)) == .fresh)
        #expect(
            window.judge(encapsulatedKey: [1], keyID: 1, date: told, now: behind, uptime: .seconds(300)) == .replayed)
        #expect(judge(window, 1_001, date: 400, at: 400, uptime: 4_000) == .fresh)
        #expect(!window.isAhead(of: start + 400))
    }

    @Test("a clock that was ahead for a while and is put right admits nothing again")
    func ahead() {
        let window = window()
        let jump = 1_000_000.0
        for second in 0..<300 {
            let now = Double(second) + (second < 100 ? 0 : jump)
            #expect(judge(window, second, date: now + 1, at: now, uptime: Double(second)) == .fresh)
        }
        for second in 0..<300 {
            let date = Double(second) + (second < 100 ? 0 : jump) + 1
            #expect(judge(window, second, date: date, at: 300, uptime: 300) != .fresh)
            #expect(judge(window, second, date: date, at: date, uptime: 600) != .fresh)
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
        // Those that were refused among them.
        #expect(window.count == 5)
    }

    @Test("a request whose date is refused is not served later, when that date has come or the clock was put right")
    func refused() {
        let window = window()
        // A client's clock is ahead: it is asked for another date, and its request is not held back for later.
        #expect(judge(window, 1, date: 60, at: 0) == .dateNeeded)
        #expect(judge(window, 1, date: 60, at: 58) == .replayed)
        for seconds in [100.0, 170, 240] { #expect(judge(window, Int(seconds), date: seconds, at: seconds) == .fresh) }
        #expect(judge(window, 1, date: 60, at: 240) == .dateNeeded)
        // That was forgotten, and stays refused when the calendar goes through it again.
        #expect(judge(window, 1, date: 60, at: 60, uptime: 400) != .fresh)
        // The gateway's own clock is ahead for a moment.
        let fast = self.window()
        #expect(judge(fast, 1, date: 10, at: 100, uptime: 9) == .dateNeeded)
        #expect(judge(fast, 1, date: 10, at: 11) == .replayed)
    }

    @Test("requests that are remembered for their refused dates have a bound, and go when they are too old, or with their key")
    func refusedBound() {
        let window = window { $0.rememberedDated = 2 }
        #expect(judge(window, 1, date: 60, at: 0) == .dateNeeded)
        #expect(judge(window, 2, date: 1_000, at: 0, keyID: 2) == .dateNeeded)
        // No date is asked for where the request could be served with the one that it has.
        #expect(judge(window, 3, date: 60, at: 0) == .full)
        #expect(judge(window, 4, date: 200, at: 200) == .fresh)
        #expect(window.count == 2)
        window.forget(keysOtherThan: [1])
        #expect(window.count == 1)
        #expect(judge(window, 2, date: 1_000, at: 1_000, keyID: 2) == .replayed)
    }

    @Test("a request without a date that could not be remembered is not served once there is room")
    func refusedUndated() {
        let window = window { $0.rememberedUndated = 1 }
        #expect(judge(window, 1, date: nil, at: 0, keyID: 1) == .fresh)
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .undatedFull)
        window.forget(keysOtherThan: [2])
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .undatedFull)
        #expect(judge(window, 3, date: nil, at: 0, keyID: 3) == .fresh)
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

    @Test("a full window refuses, and forgets nothing before its time")
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
        #expect(judge(window, 5, date: nil, at: 0) == .undatedFull)
        #expect(judge(window, 4, date: nil, at: 0) == .replayed)
        // Two lives later there is room again.
        #expect(judge(window, 6, date: 400, at: 400) == .fresh)
        #expect(judge(window, 7, date: 400, at: 400) == .fresh)
    }

    @Test("room for requests without a date is made by the end of the keys that they were sealed to")
    func roomMade() {
        let window = window { $0.rememberedUndated = 2 }
        #expect(judge(window, 1, date: nil, at: 0, keyID: 1) == .fresh)
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .fresh)
        #expect(judge(window, 3, date: nil, at: 0, keyID: 2) == .undatedFull)
        #expect(judge(window, 3, date: 1, at: 0, keyID: 2) == .fresh)
        window.forget(keysOtherThan: [2])
        #expect(judge(window, 4, date: nil, at: 0, keyID: 4) == .fresh)
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .replayed)
    }

    @Test("requests without a date are refused where dates are required")
    func required() {
        let window = window { $0.requiresDate = true }
        #expect(judge(window, 1, date: nil, at: 0) == .dateNeeded)
        #expect(window.count == 0)
    }
}
