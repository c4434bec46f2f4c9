import Foundation
import OHTTP
import Testing

@testable import ApproovGateway

@Suite struct ReplayWindowTests {
    private let start = Date(timeIntervalSince1970: 1_790_000_000.5)

    private func window(_ change: (inout GatewayConfiguration.Replay) -> Void = { _ in }) -> ReplayWindow {
        var settings = GatewayConfiguration.Replay()
        change(&settings)
        return ReplayWindow(settings, startedAt: start, uptime: .zero)
    }

    /// The window after a restart, for what the one before it had to say.
    private func restart(
        _ bytes: [UInt8], at time: TimeInterval = 0, _ change: (inout GatewayConfiguration.Replay) -> Void = { _ in }
    ) throws -> ReplayWindow {
        var settings = GatewayConfiguration.Replay()
        change(&settings)
        return try #require(ReplayWindow(settings, continuing: bytes, startedAt: start + time, uptime: .zero))
    }

    /// Judges a request; dates and times are in seconds after the start.
    private func judge(
        _ window: ReplayWindow, _ key: Int, date: Double?, at seconds: Double, uptime: Double? = nil, keyID: UInt8 = 1
    ) -> ReplayWindow.Verdict {
        window.judge(
            encapsulatedKey: Array("\(key)".utf8), key: ReplayWindow.Key(encoded: [keyID]), date: date.map(date(_:)), now: start + seconds,
            uptime: .seconds(uptime ?? seconds))
    }

    private let key = ReplayWindow.Key(encoded: [1])

    private func forget(_ window: ReplayWindow, keysOtherThan ids: [UInt8]) {
        window.forget(keysOtherThan: Set(ids.map { ReplayWindow.Key(encoded: [$0]) }))
    }

    private func date(_ seconds: Double) -> Date {
        Date(timeIntervalSince1970: start.timeIntervalSince1970.rounded(.down) + seconds)
    }

    @Test("A dated request is fresh once, then a replay for as long as its date is accepted, for any window", arguments: [1, 2, 3, 60])
    func dated(seconds: Int) {
        let window = window { $0.window = .seconds(seconds) }
        for now in 0..<(seconds + 10) * 5 {
            // One date as far ahead as allowed, so accepted for the longest time, and one as old as allowed.
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

    @Test("A remembered request is a replay, even when its date has become too old")
    func late() {
        let window = window()
        #expect(judge(window, 1, date: 1, at: 0) == .fresh)
        #expect(judge(window, 1, date: 1, at: 63) == .replayed)
        #expect(judge(window, 1, date: 1, at: 100) == .replayed)
        #expect(judge(window, 2, date: 1, at: 100) == .dateNeeded)
        #expect(judge(window, 1, date: 1, at: 400) == .dateNeeded)
    }

    @Test("An undated request sealed to an ended key counts as a replay, because its mark left with the key")
    func endedKey() {
        let window = window()
        forget(window, keysOtherThan: [1, 2])
        #expect(judge(window, 1, date: nil, at: 0) == .fresh)
        forget(window, keysOtherThan: [2])
        #expect(judge(window, 1, date: nil, at: 0) == .replayed)
        #expect(judge(window, 3, date: nil, at: 0, keyID: 2) == .fresh)
        // A new key is served before the window is told of it.
        #expect(judge(window, 4, date: nil, at: 0, keyID: 3) == .fresh)
    }

    @Test("When a key that had ended is accepted again, its requests need a date, and those that were dated ahead stay refused")
    func returnedKey() {
        let window = window()
        #expect(judge(window, 1, date: nil, at: 0) == .fresh)
        #expect(judge(window, 2, date: 100, at: 0) == .dateNeeded)
        #expect(judge(window, 3, date: 1, at: 0) == .fresh)
        forget(window, keysOtherThan: [2])
        forget(window, keysOtherThan: [1, 2])
        #expect(judge(window, 1, date: nil, at: 10) == .dateNeeded)
        #expect(judge(window, 4, date: nil, at: 10) == .dateNeeded)
        #expect(judge(window, 3, date: 1, at: 10) == .replayed)
        #expect(judge(window, 2, date: 100, at: 100) == .replayed)
        #expect(judge(window, 5, date: 101, at: 101) == .fresh)
        #expect(judge(window, 5, date: 101, at: 101) == .replayed)
        // And once more.
        forget(window, keysOtherThan: [2])
        #expect(judge(window, 6, date: nil, at: 102) == .replayed)
        forget(window, keysOtherThan: [1])
        #expect(judge(window, 6, date: nil, at: 102) == .dateNeeded)
    }

    @Test("A new key with the identifier of an ended one is another key")
    func sameIdentifier() throws {
        let one = try GatewayKey(id: 1, kem: .x25519).configuration
        let other = try GatewayKey(id: 1, kem: .x25519).configuration
        let window = window()
        func judge(_ request: UInt8, _ key: KeyConfiguration) -> ReplayWindow.Verdict {
            window.judge(encapsulatedKey: [request], key: ReplayWindow.Key(key), date: nil, now: start, uptime: .zero)
        }
        #expect(judge(1, one) == .fresh)
        window.forget(keysOtherThan: [ReplayWindow.Key(other)])
        #expect(judge(1, one) == .replayed)
        #expect(judge(2, other) == .fresh)
        window.forget(keysOtherThan: [ReplayWindow.Key(one)])
        #expect(judge(1, one) == .dateNeeded)
    }

    @Test("Marks are forgotten once their dates are too old, so the request rate bounds the memory, not the time")
    func forgotten() {
        let window = window { $0.window = .seconds(10) }
        for now in 0..<1_000 { #expect(judge(window, now, date: Double(now + 1), at: Double(now)) == .fresh) }
        #expect(window.count <= 36)
    }

    @Test("A clock that is set back admits no request a second time", arguments: [1, 3, 60], [30, 3_600, 86_400 * 400])
    func setBack(seconds: Int, by back: Int) {
        let jump = Double(back)
        let window = window { $0.window = .seconds(seconds) }
        let served = 0..<(seconds * 4 + 60)
        for second in served { #expect(judge(window, second, date: Double(second + 1), at: Double(second)) == .fresh) }
        let end = Double(served.upperBound)
        // The clock passes all the served dates again, while the uptime continues.
        var later = end
        while later - jump < end + 10 {
            let now = later - jump
            for second in served where abs(now - Double(second)) < Double(seconds) + 10 {
                #expect(judge(window, second, date: Double(second + 1), at: now, uptime: later) != .fresh, "\(second) at \(now)")
            }
            later = now < -Double(seconds) - 20 ? later + (-Double(seconds) - 20 - now) : later + 1
        }
    }

    @Test("While the clock is behind, the suggested date is accepted, and after it has caught up, a correct date is")
    func behind() {
        let window = window()
        for second in 0..<300 { #expect(judge(window, second, date: Double(second + 1), at: Double(second)) == .fresh) }
        #expect(!window.isAhead(of: start + 299))
        #expect(judge(window, 1_000, date: 300 - 3_600, at: 300 - 3_600, uptime: 300) == .dateNeeded)
        let behind = start + (300 - 3_600)
        #expect(window.isAhead(of: behind))
        let told = window.acceptableDate(behind)
        #expect(
            window.judge(encapsulatedKey: [1], key: key, date: told, now: behind, uptime: .seconds(300)) == .fresh)
        #expect(
            window.judge(encapsulatedKey: [1], key: key, date: told, now: behind, uptime: .seconds(300)) == .replayed)
        #expect(judge(window, 1_001, date: 400, at: 400, uptime: 4_000) == .fresh)
        #expect(!window.isAhead(of: start + 400))
    }

    @Test("While the clock is behind, the date that a client is told is accepted, although a request dated ahead was forgotten in between")
    func behindAfterAhead() throws {
        let window = window()
        #expect(judge(window, 1, date: 100, at: 0) == .dateNeeded)
        // The turn of the window forgets it, at a broken second.
        #expect(judge(window, 2, date: 200, at: 200.37, uptime: 200.37) == .fresh)
        let behind = start + (200.5 - 600)
        let told = try #require(HTTPDate.parse(HTTPDate.format(window.acceptableDate(behind))))
        #expect(window.judge(encapsulatedKey: [7], key: key, date: told, now: behind, uptime: .seconds(200.5)) == .fresh)
        // The forgotten one stays refused.
        #expect(judge(window, 1, date: 100, at: 100, uptime: 201) != .fresh)
    }

    @Test("A clock that was ahead for a while and is corrected admits no request a second time")
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

    @Test("A date that is too old, too far ahead or not after the second of the start is not accepted")
    func outside() {
        let window = window()
        #expect(judge(window, 1, date: 1, at: 0) == .fresh)
        #expect(judge(window, 2, date: 0, at: 0) == .dateNeeded)
        #expect(judge(window, 3, date: 7, at: 0) == .dateNeeded)
        #expect(judge(window, 4, date: 1, at: 62) == .dateNeeded)
        // The window accepts the date that it suggests.
        let named = window.acceptableDate(start)
        #expect(window.judge(encapsulatedKey: [5], key: key, date: named, now: start, uptime: .zero) == .fresh)
        // The count includes the refused requests.
        #expect(window.count == 5)
    }

    @Test("A request with a refused date is not served later, when the date is due or the clock is corrected")
    func refused() {
        let window = window()
        // The client's clock is ahead. The client is asked for another date, and this request cannot be served later.
        #expect(judge(window, 1, date: 60, at: 0) == .dateNeeded)
        #expect(judge(window, 1, date: 60, at: 58) == .replayed)
        for seconds in [100.0, 170, 240] { #expect(judge(window, Int(seconds), date: seconds, at: seconds) == .fresh) }
        #expect(judge(window, 1, date: 60, at: 240) == .dateNeeded)
        // The request is forgotten by now, and stays refused when the clock passes its date again.
        #expect(judge(window, 1, date: 60, at: 60, uptime: 400) != .fresh)
        // The gateway's own clock is ahead for a short time.
        let fast = self.window()
        #expect(judge(fast, 1, date: 10, at: 100, uptime: 9) == .dateNeeded)
        #expect(judge(fast, 1, date: 10, at: 11) == .replayed)
    }

    @Test("After a restart, requests are still known, those that were dated ahead of the clock too")
    func restarted() throws {
        let first = window()
        #expect(judge(first, 1, date: 600, at: 0) == .dateNeeded)
        #expect(judge(first, 2, date: 4, at: 0) == .fresh)
        #expect(judge(first, 3, date: 60, at: 0) == .dateNeeded)
        let second = try restart(first.remembered(at: start + 2, uptime: .seconds(2)))
        #expect(second.count == 3)
        #expect(judge(second, 2, date: 4, at: 3) == .replayed)
        #expect(judge(second, 3, date: 60, at: 3) == .replayed)
        #expect(judge(second, 4, date: 4, at: 3) == .fresh)
        // And once more, after more than the life of a mark.
        let third = try restart(second.remembered(at: start + 200, uptime: .seconds(198)))
        #expect(judge(third, 1, date: 600, at: 598) == .replayed)
        #expect(judge(third, 5, date: 600, at: 598) == .fresh)
        // Only the first one, which is dated furthest ahead, and the new one are left.
        #expect(third.count == 2)
    }

    @Test("A request that was served is known after a restart, whatever its date, and is not asked for another date")
    func servedBefore() throws {
        let first = window()
        #expect(judge(first, 1, date: 100, at: 100) == .fresh)
        #expect(judge(first, 2, date: 60, at: 101) == .fresh)
        let second = try restart(first.remembered(at: start + 101, uptime: .seconds(101)))
        #expect(judge(second, 1, date: 100, at: 103, uptime: 1) == .replayed)
        #expect(judge(second, 2, date: 60, at: 103, uptime: 1) == .replayed)
        // A copy whose date has become too old is a replay, too.
        #expect(judge(second, 2, date: 60, at: 130, uptime: 28) == .replayed)
    }

    @Test("After longer than a restart takes, the dates up to the start are refused: another gateway may have served and been killed")
    func oldFile() throws {
        let first = window()
        #expect(judge(first, 1, date: 100, at: 100) == .fresh)
        let bytes = first.remembered(at: start + 101, uptime: .seconds(101))
        let soon = try restart(bytes, at: 130)
        #expect(judge(soon, 2, date: 129, at: 131, uptime: 1) == .fresh)
        let late = try restart(bytes, at: 132)
        #expect(judge(late, 2, date: 131, at: 133, uptime: 1) == .dateNeeded)
        #expect(judge(late, 3, date: 133, at: 133, uptime: 1) == .fresh)
    }

    @Test("A restart refuses no date that a client with a slow clock states, and a start that knows no earlier requests does")
    func slowClock() throws {
        let first = window()
        #expect(judge(first, 1, date: 100, at: 100) == .fresh)
        let second = try restart(first.remembered(at: start + 101, uptime: .seconds(101)))
        for slow in 0...58 {
            #expect(judge(second, 100 + slow, date: Double(106 - slow), at: 106, uptime: 4) == .fresh, "\(slow)")
        }
        let killed = ReplayWindow(.init(), startedAt: start + 102, uptime: .zero)
        #expect(judge(killed, 200, date: 76, at: 106, uptime: 4) == .dateNeeded)
        // A window whose file may be an old one does as that start does.
        second.refuseDates(upTo: start + 102)
        #expect(judge(second, 200, date: 102, at: 106, uptime: 4) == .dateNeeded)
        #expect(judge(second, 201, date: 103, at: 106, uptime: 4) == .fresh)
        #expect(judge(second, 1, date: 100, at: 106, uptime: 4) == .replayed)
    }

    @Test("A mark lives no longer after many restarts than without one, and no shorter")
    func markLife() throws {
        var window = window()
        for now in 0..<300 {
            let time = Double(now)
            #expect(judge(window, now, date: time + 1, at: time, uptime: 1) == .fresh)
            for age in 1...64 where now >= age {
                #expect(judge(window, now - age, date: time - Double(age) + 1, at: time, uptime: 1) == .replayed, "\(age) at \(now)")
            }
            window = try restart(window.remembered(at: start + time, uptime: .seconds(1)))
        }
        // Twice the life of 67 seconds, and the requests of the present second.
        #expect(window.count <= 2 * 68 + 1)
    }

    @Test("A longer window after a restart accepts no date that the earlier one refused as too old")
    func longerWindow() throws {
        let first = window()
        #expect(judge(first, 1, date: 100, at: 200) == .dateNeeded)
        // The request is forgotten.
        #expect(judge(first, 2, date: 100, at: 400) == .dateNeeded)
        let second = try restart(first.remembered(at: start + 400, uptime: .seconds(400))) { $0.window = .seconds(3_600) }
        #expect(judge(second, 1, date: 100, at: 401, uptime: 1) == .dateNeeded)
        #expect(judge(second, 3, date: 341, at: 401, uptime: 1) == .fresh)
    }

    @Test("Requests without a date are not left to the next window, and each other takes one number, or two if it is dated ahead")
    func bytes() {
        let window = window()
        let empty = window.remembered(at: start, uptime: .zero).count
        #expect(judge(window, 1, date: nil, at: 0) == .fresh)
        #expect(window.remembered(at: start, uptime: .zero).count == empty)
        #expect(judge(window, 2, date: 1, at: 0) == .fresh)
        #expect(judge(window, 3, date: 60, at: 0) == .dateNeeded)
        #expect(window.remembered(at: start, uptime: .zero).count == empty + 8 + 16)
    }

    @Test("Requests that were served while the clock was ahead are refused after a restart with the right clock, and clients get a date")
    func restartedAfterClockWasAhead() throws {
        for life in [10.0, 200] {
            let first = ReplayWindow(.init(), startedAt: start + 3_600, uptime: .zero)
            #expect(judge(first, 1, date: 3_602, at: 3_602, uptime: 0) == .fresh)
            #expect(judge(first, 2, date: 3_602 + life, at: 3_602 + life, uptime: life) == .fresh)
            // The clock is set right.
            let second = try restart(first.remembered(at: start + 10 + life, uptime: .seconds(life)))
            #expect(judge(second, 1, date: 3_602, at: 30 + life, uptime: 1) != .fresh)
            #expect(judge(second, 2, date: 3_602 + life, at: 3_602 + life, uptime: 2) == .replayed)
            let named = second.acceptableDate(start + 30 + life).timeIntervalSince(date(0))
            #expect(judge(second, 3, date: named, at: 30 + life, uptime: 3) == .fresh)
        }
    }

    @Test("A request that was refused as too old while the clock was ahead is refused after a restart with the right clock, too")
    func refusedAsTooOld() throws {
        let first = window()
        #expect(judge(first, 1, date: 104, at: 3_700, uptime: 100) == .dateNeeded)
        let second = try restart(first.remembered(at: start + 101, uptime: .seconds(101)))
        #expect(judge(second, 1, date: 104, at: 104, uptime: 3) == .replayed)
        #expect(judge(second, 2, date: 104, at: 104, uptime: 3) == .fresh)
    }

    @Test("A restart with a clock behind that of the stop serves no request again")
    func restartedBehind() throws {
        let first = window()
        #expect(judge(first, 1, date: 100, at: 100) == .fresh)
        let second = try restart(first.remembered(at: start + 100, uptime: .seconds(100)))
        #expect(judge(second, 1, date: 100, at: 97, uptime: 1) == .replayed)
        #expect(judge(second, 2, date: 102, at: 99, uptime: 3) == .fresh)
        // Dates that the earlier window would have refused as too old.
        #expect(judge(second, 3, date: 40, at: 40, uptime: 4) == .dateNeeded)
    }

    @Test("A file with an age that no clock reaches does not end the process when the gateway stops")
    func hugeAge() throws {
        let second = try restart(window().remembered(at: start, uptime: .seconds(Int64.max)))
        #expect(judge(second, 1, date: 1, at: 0) == .fresh)
        let third = try restart(window().remembered(at: start, uptime: .seconds(Int64.max)))
        #expect(!third.remembered(at: start + 1, uptime: .seconds(1)).isEmpty)
    }

    @Test("A file that is not whole, or that no window wrote, is damaged")
    func damaged() throws {
        let first = window()
        #expect(judge(first, 1, date: 1, at: 0) == .fresh)
        #expect(judge(first, 2, date: 60, at: 0) == .dateNeeded)
        let bytes = first.remembered(at: start, uptime: .zero)
        _ = try restart(bytes)
        var others = (0..<bytes.count).map { Array(bytes.prefix($0)) } + [bytes + [0]]
        for index in bytes.indices {
            others.append(bytes)
            others[others.count - 1][index] ^= 1
        }
        // A checksum that matches, and numbers that a window does not write.
        let counts: [[UInt64]] = [
            [], [1, 0, 0, 0, 0, 0], [.max, 0, 0, 0, 0, 0, 0], [1, 0, 0, .max, 0, 0, 0], [1, 0, 0, 0, 0, 0, .max], [1, 0, 0, 0, 0, 0, 0, 1],
            [1, 0, 0, 0, 0, 0, 1, 1],
        ]
        for numbers in counts {
            var writer = CheckedNumbers.Writer(count: numbers.count)
            for number in numbers { writer.add(number) }
            others.append(writer.finish())
        }
        for other in others { #expect(ReplayWindow(.init(), continuing: other, startedAt: start, uptime: .zero) == nil, "\(other)") }
    }

    @Test("Requests with refused dates count towards the limit, and are forgotten with age, not with their key")
    func refusedBound() {
        let window = window { $0.rememberedDated = 2 }
        #expect(judge(window, 1, date: 60, at: 0) == .dateNeeded)
        #expect(judge(window, 2, date: 1_000, at: 0, keyID: 2) == .dateNeeded)
        // The window does not ask for a date if the request could still be served with the date that it has.
        #expect(judge(window, 3, date: 60, at: 0) == .aheadFull)
        #expect(judge(window, 4, date: 200, at: 200) == .fresh)
        #expect(window.count == 2)
        forget(window, keysOtherThan: [1])
        #expect(window.count == 2)
        #expect(judge(window, 2, date: 1_000, at: 1_000, keyID: 2) == .replayed)
    }

    @Test("Requests dated more than a day ahead leave room for those of clients whose clocks are a little fast")
    func farAhead() {
        let window = window { $0.rememberedDated = 4 }
        let day = 86_400.0
        for key in 1...2 { #expect(judge(window, key, date: 1_000 * day, at: 0) == .dateNeeded) }
        #expect(judge(window, 3, date: 1_000 * day, at: 0) == .aheadFull)
        for key in 4...5 { #expect(judge(window, key, date: day - 1, at: 0) == .dateNeeded) }
        #expect(judge(window, 6, date: 60, at: 0) == .aheadFull)
        // A day later, those a little ahead are forgotten, and the others still are not.
        #expect(judge(window, 7, date: day + 60, at: day + 60) == .fresh)
        #expect(judge(window, 1, date: 1_000 * day, at: day + 60) == .replayed)
        #expect(judge(window, 8, date: day + 180, at: day + 61) == .dateNeeded)
    }

    @Test("An undated request that found no room is not served later when there is room")
    func refusedUndated() {
        let window = window { $0.rememberedUndated = 1 }
        #expect(judge(window, 1, date: nil, at: 0, keyID: 1) == .fresh)
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .undatedFull)
        forget(window, keysOtherThan: [2])
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .undatedFull)
        #expect(judge(window, 3, date: nil, at: 0, keyID: 3) == .fresh)
    }

    @Test("An undated request is remembered until its key is removed")
    func undated() {
        let window = window()
        #expect(judge(window, 1, date: nil, at: 0) == .fresh)
        #expect(judge(window, 1, date: nil, at: 1_000_000) == .replayed)
        #expect(judge(window, 1, date: 1, at: 0) == .replayed)
        forget(window, keysOtherThan: [1, 2])
        #expect(judge(window, 1, date: nil, at: 1_000_000) == .replayed)
        forget(window, keysOtherThan: [2])
        #expect(window.count == 0)
    }

    @Test("A full window refuses new requests, and forgets no request early")
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
        // After two lifetimes there is room again.
        #expect(judge(window, 6, date: 400, at: 400) == .fresh)
        #expect(judge(window, 7, date: 400, at: 400) == .fresh)
    }

    @Test("The end of a key makes room for further undated requests")
    func roomMade() {
        let window = window { $0.rememberedUndated = 2 }
        #expect(judge(window, 1, date: nil, at: 0, keyID: 1) == .fresh)
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .fresh)
        #expect(judge(window, 3, date: nil, at: 0, keyID: 2) == .undatedFull)
        #expect(judge(window, 3, date: 1, at: 0, keyID: 2) == .fresh)
        forget(window, keysOtherThan: [2])
        #expect(judge(window, 4, date: nil, at: 0, keyID: 4) == .fresh)
        #expect(judge(window, 2, date: nil, at: 0, keyID: 2) == .replayed)
    }

    @Test("When dates are required, undated requests are refused and not remembered")
    func required() {
        let window = window { $0.requiresDate = true }
        #expect(judge(window, 1, date: nil, at: 0) == .dateNeeded)
        #expect(window.count == 0)
    }
}
