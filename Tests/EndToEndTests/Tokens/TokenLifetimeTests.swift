import ApproovTesting
import Foundation
import Testing

/// Tokens that end while an app goes on calling.
@Suite("Token lifetimes", .timeLimit(.minutes(4)))
struct TokenLifetimeTests {
    @Test("over three lifetimes under steady load no request waits for a slow authority, and every one is answered")
    func steadyLoad() async throws {
        try await World.with(tokenLifetime: 6, share: 4) { world in
            try await AuthorityFront.with(world) { front in
                let app = try await world.app { $0.front = front }
                let url = try world.url("/shapes")
                let first = try await app.get(url)
                #expect(first.status == 200)
                let seen = Shared((answers: 1, tokens: Set([first.text]), stuck: 0, holds: 0))
                // From here on the authority answers only when more requests have been answered meanwhile: were one of them to
                // wait for the authority, both would wait, until the hold gives up and says so.
                front.behavior = .hold { _ in
                    let enough = seen.change { state in
                        state.holds += 1
                        return state.answers + 5
                    }
                    let giveUp = ContinuousClock.now + .milliseconds(2_400)
                    while seen.value.answers < enough {
                        guard ContinuousClock.now < giveUp else {
                            seen.change { $0.stuck += 1 }
                            return
                        }
                        try? await Task.sleep(for: .milliseconds(5))
                    }
                }
                let end = ContinuousClock.now + .milliseconds(20_000)
                try await withThrowingTaskGroup { group in
                    for _ in 0..<2 {
                        group.addTask {
                            while ContinuousClock.now < end {
                                let answer = try await app.get(url)
                                #expect(answer.status == 200)
                                seen.change { state in
                                    state.answers += 1
                                    state.tokens.insert(answer.text)
                                }
                                try await Task.sleep(for: .milliseconds(10))
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(seen.value.holds >= 4)
                #expect(seen.value.stuck == 0)
                #expect(seen.value.tokens.count >= 4)
            }
        }
    }
}
