import Attestation
import Synchronization

/// Unused challenges from earlier results; each is used once.
///
/// A challenge is not tied to a host, so a challenge from any result saves the next fetch a round trip.
final class ChallengePool: Sendable {
    /// The most challenges kept; the oldest one is dropped first.
    static let capacity = 64
    /// How long before its expiry a challenge is dropped, because it could expire on the way.
    static let margin: Duration = .seconds(5)

    private struct Kept {
        let value: String
        let expiresAt: Duration
    }

    private let challenges = Mutex<[Kept]>([])

    /// Adds a challenge that was received at `now`.
    func put(_ challenge: Challenge, now: Duration) {
        challenges.withLock { challenges in
            if challenges.count == Self.capacity { challenges.removeFirst() }
            challenges.append(Kept(value: challenge.value, expiresAt: now + .seconds(challenge.expiresIn) - Self.margin))
        }
    }

    /// Removes and returns the newest challenge that has not expired.
    func take(now: Duration) -> String? {
        challenges.withLock { challenges in
            challenges.removeAll { $0.expiresAt <= now }
            return challenges.popLast()?.value
        }
    }

    /// Whether the pool holds a challenge that has not expired.
    func hasChallenge(now: Duration) -> Bool {
        challenges.withLock { $0.contains { $0.expiresAt > now } }
    }

    /// Drops all challenges, because the authority no longer knows them.
    func empty() { challenges.withLock { $0 = [] } }
}
