import Foundation
import Testing

@testable import Approov
@testable import ApproovGateway

/// The gateway's rule about a request's date, together with the client's rule about sending a request again that must not run twice.
@Suite struct ClockSkewTests {
    /// A request of a client whose clock differs from the gateway's.
    private struct Exchange {
        /// The gateway's time when the request is sent.
        let sent: Date
        /// How far the client's clock is ahead, in seconds.
        let skew: Double
        /// How long the request takes, in seconds.
        var there = 0.0
        /// How long the response takes, in seconds.
        var back = 0.0

        var stated: Date { Self.wholeSeconds(sent + skew) }
        var judged: Date { sent + there }
        var answered: Date { Self.wholeSeconds(judged) }

        /// Whether the client sends the request again if its date is refused.
        func isRepeated(window: Int) -> Bool {
            ObliviousChannel.isClockWrong(
                at: answered, sent: sent + skew, arrived: judged + back + skew, window: TimeInterval(window))
        }

        private static func wholeSeconds(_ date: Date) -> Date { Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)) }
    }

    /// A gateway that judges a request at any time, each as if it had not seen it before.
    private final class Judge {
        private static let start = Date(timeIntervalSince1970: 1_790_000_000)
        private let window: ReplayWindow
        private var requests = 0

        init(_ seconds: Int) {
            var settings = GatewayConfiguration.Replay()
            settings.window = .seconds(seconds)
            window = ReplayWindow(settings, startedAt: Self.start, uptime: .zero)
        }

        func accepts(_ date: Date, at now: Date) -> Bool {
            requests += 1
            let verdict = window.judge(
                encapsulatedKey: Array("\(requests)".utf8), key: ReplayWindow.Key(encoded: [1]), date: date, now: now, uptime: .zero)
            #expect(verdict == .fresh || verdict == .dateNeeded)
            return verdict == .fresh
        }
    }

    /// Quarters of seconds, as fractions of the gateway's time at sending; the gateway started a day before.
    private static let moments = [0, 0.25, 0.5, 0.75].map { Date(timeIntervalSince1970: 1_790_086_400 + $0) }
    private static func skews(_ window: Int) -> [Double] { Array(stride(from: -Double(window) - 5, through: 15, by: 0.25)) }

    @Test("A request whose date is refused because of the client's clock is sent again, whatever the skew", arguments: [1, 20, 60, 120])
    func wrongClock(window: Int) {
        let judge = Judge(window)
        for sent in Self.moments {
            for skew in Self.skews(window) {
                let exchange = Exchange(sent: sent, skew: skew)
                let isAccepted = judge.accepts(exchange.stated, at: exchange.judged)
                // With this age in whole seconds, the client cannot know whether the request was too old when it was sent.
                let isUnclear = exchange.answered.timeIntervalSince(exchange.stated) == Double(window)
                #expect(exchange.isRepeated(window: window) == !isAccepted || isUnclear, "\(skew) at \(sent)")
            }
        }
    }

    @Test("A request that the gateway may have served is not sent again, however long the relay held it back", arguments: [1, 20, 60, 120])
    func heldBack(window: Int) {
        let judge = Judge(window)
        for sent in Self.moments {
            for skew in Self.skews(window) where judge.accepts(Exchange(sent: sent, skew: skew).stated, at: sent) {
                for there in [0, 0.25, 5, 61, 200] {
                    for back in [0, 0.5, 3_600] {
                        let exchange = Exchange(sent: sent, skew: skew, there: there, back: back)
                        #expect(!exchange.isRepeated(window: window), "\(skew) at \(sent), \(there) and \(back)")
                    }
                }
            }
        }
    }
}
