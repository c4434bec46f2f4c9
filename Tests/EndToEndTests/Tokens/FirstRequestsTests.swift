import Foundation
import TestTags
import Testing

/// An app's first requests, all at the same time.
@Suite("First requests", .tags(.sockets), .timeLimit(.minutes(5)))
struct FirstRequestsTests {
    @Test("A thousand concurrent first requests cause one attestation and are all answered")
    func oneAttestation() async throws {
        try await LoopbackWorld.with { world in
            try await AuthorityFront.with(world) { front in
                let app = try await world.app { $0.front = front }
                let url = try world.url("/shapes")
                let answers = try await withThrowingTaskGroup { group in
                    for _ in 0..<1_000 { group.addTask { try await app.get(url) } }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.count == 1_000)
                #expect(answers.allSatisfy { $0.status == 200 })
                #expect(Set(answers.map(\.text)).count == 1)
                #expect(front.requests("/v1/attestations") == 1)
                #expect(front.requests("/v1/challenges") == 1)
            }
        }
    }
}
