import ApproovTesting
import ApproovTokenCheck
import Foundation
import Testing

@Suite struct MemoryReplayStoreTests {
    private let clock = ManualClock()

    private var end: Int64 { Int64(clock.date.timeIntervalSince1970) + 90 }

    @Test("Of two thousand concurrent uses of one token exactly one is the first")
    func concurrent() async throws {
        let store = MemoryReplayStore(time: clock)
        let end = end
        let firsts = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<2_000 { group.addTask { try await store.consume("jti", of: nil, until: end) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(firsts == 1 && store.count == 1)
    }

    @Test("A full store says so, with its capacity and the remedy, and has room when the clock passes the records' end")
    func full() async throws {
        let store = MemoryReplayStore(capacity: 1, time: clock)
        #expect(try await store.consume("a", of: "issuer", until: end))
        let error = await #expect(throws: ReplayStoreError.self) { try await store.consume("secret-b", of: "issuer", until: end) }
        #expect(error?.code == .storeFull && error?.message.contains("larger capacity") == true)
        #expect(error?.description.contains("secret-b") == false)
        clock.advance(by: .seconds(90))
        #expect(try await store.consume("secret-b", of: "issuer", until: end))
    }
}
