import ApproovTesting
import Foundation
import TestTags
import Testing

/// Tokens that expire while an app makes calls.
@Suite("Token lifetimes", .tags(.sockets), .timeLimit(.minutes(5)))
struct TokenLifetimeTests {
    /// The app's clock and the authority's, which advance together.
    private struct Clocks {
        let app = ManualClock(date: Date())
        let authority = ManualClock(date: Date())

        func advance(by duration: Duration) {
            authority.advance(by: duration)
            app.advance(by: duration)
        }
    }

    @Test("Over three token lifetimes under load, no request waits for a slow authority, and every one is answered")
    func steadyLoad() async throws {
        let clocks = Clocks()
        try await LoopbackWorld.with(tokenLifetime: 300, time: clocks.authority) { world in
            try await AuthorityFront.with(world) { front in
                let app = try await world.app {
                    $0.front = front
                    $0.clock = clocks.app
                }
                let url = try world.url("/shapes")
                let first = try await app.get(url)
                #expect(first.status == 200)
                let seen = Shared((answers: 1, tokens: Set([first.text]), holds: 0, stuck: 0))
                // From here the authority answers only after five more requests have been answered. If one of them waited for the
                // authority, neither would end.
                front.behavior = .hold { _ in
                    let enough = seen.change { state in
                        state.holds += 1
                        return state.answers + 5
                    }
                    if await !eventually(within: .seconds(30), { seen.value.answers >= enough }) { seen.change { $0.stuck += 1 } }
                }
                try await withThrowingTaskGroup { group in
                    for _ in 0..<2 {
                        group.addTask {
                            while !Task.isCancelled {
                                let answer = try await app.get(url)
                                #expect(answer.status == 200)
                                seen.change { state in
                                    state.answers += 1
                                    state.tokens.insert(answer.text)
                                }
                            }
                        }
                    }
                    var elapsed = Duration.zero
                    while elapsed < .seconds(3 * 300) {
                        // The app sleeps until half of its token's lifetime is over.
                        await clocks.app.sleepers(atLeast: 1)
                        let tokens = seen.value.tokens.count
                        let next = try #require(clocks.app.nextWakeUp)
                        clocks.advance(by: next)
                        elapsed += next
                        try #require(await eventually { seen.value.tokens.count > tokens })
                    }
                    group.cancelAll()
                    do { try await group.waitForAll() } catch is CancellationError {}
                }
                #expect(seen.value.holds >= 3)
                #expect(seen.value.stuck == 0)
                #expect(seen.value.tokens.count >= 4)
            }
        }
    }
}
