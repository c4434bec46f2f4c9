import Attestation
import Synchronization

/// Challenges that results brought along; each is taken once.
///
/// A challenge is not tied to a host, so that one from any result spares the next fetch its first round trip.
final class ChallengePool: Sendable {
    /// The most challenges kept; the oldest go first.
    static let capacity = 64
    /// A challenge so near its end could expire on the way.
    static let margin: Duration = .seconds(5)

    private struct Kept {
        let value: String
        let expiresAt: Duration
    }

    private let challenges = Mutex<[Kept]>([])

    /// Keeps a challenge that came at `now`.
    func put(_ challenge: Challenge, now: Duration) {
        challenges.withLock { challenges in
            if challenges.count == Self.capacity { challenges.removeFirst() }
            challenges.append(Kept(value: challenge.value, expiresAt: now + .seconds(challenge.expiresIn) - Self.margin))
        }
    }

    /// Takes the newest challenge that is still good.
    func take(now: Duration) -> String? {
        challenges.withLock { challenges in
            challenges.removeAll { $0.expiresAt <= now }
            return challenges.popLast()?.value
        }
    }

    /// Whether there is a challenge to take.
    func hasChallenge(now: Duration) -> Bool {
        challenges.withLock { $0.contains { $0.expiresAt > now } }
    }

    /// Forgets all: the authority does not know them any more.
    func empty() { challenges.withLock { $0 = [] } }
}
