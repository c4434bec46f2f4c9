import Attestation
import Testing

@testable import Approov

@Suite struct ChallengePoolTests {
    @Test("Each challenge is taken once, the newest first")
    func once() {
        let pool = ChallengePool()
        for name in ["YQ", "Yg"] { pool.put(Challenge(value: name, expiresIn: 60), now: .zero) }
        #expect(pool.take(now: .seconds(1)) == "Yg")
        #expect(pool.take(now: .seconds(1)) == "YQ")
        #expect(pool.take(now: .seconds(1)) == nil)
    }

    @Test("A challenge is not used in its last five seconds")
    func expiry() {
        let pool = ChallengePool()
        pool.put(Challenge(value: "YQ", expiresIn: 60), now: .seconds(100))
        #expect(pool.hasChallenge(now: .seconds(154)))
        #expect(!pool.hasChallenge(now: .seconds(155)))
        #expect(pool.take(now: .seconds(155)) == nil)
    }

    @Test("The pool has a fixed capacity and drops the oldest challenges first")
    func bounded() {
        let pool = ChallengePool()
        for number in 0..<200 { pool.put(Challenge(value: "\(number)", expiresIn: 600), now: .zero) }
        var taken: [String] = []
        while let value = pool.take(now: .zero) { taken.append(value) }
        #expect(taken.count == ChallengePool.capacity)
        #expect(taken.first == "199")
    }
}
