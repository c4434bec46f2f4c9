import ApproovBase
import Attestation
import NIOCore
import Testing

@testable import ApproovAuthority

@Suite struct ConfigurationAnswersTests {
    private func address(of bytes: ByteBuffer) -> UnsafeRawPointer? { bytes.withUnsafeReadableBytes { $0.baseAddress } }

    @Test("Each answer is made once for a generation, so that the answers under way share their bytes")
    func shared() async throws {
        let account = try await AuthorityBench()
        try await account.store.rotateConfigurationKey()
        let snapshot = account.store.snapshot
        let (all, newest) = (
            snapshot.configurations(since: 0, hash: nil), snapshot.configurations(since: snapshot.newest?.version ?? 0, hash: "x")
        )
        #expect(all.count == 2 && newest.count == 1)
        let answers = ConfigurationAnswers()
        for configurations in [all, newest] {
            let bytes = answers.bytes(of: configurations, in: snapshot.generation)
            #expect(Array(bytes.readableBytesView) == JSONValue.array(configurations.map(\.json)).serialized())
            #expect(address(of: answers.bytes(of: configurations, in: snapshot.generation)) == address(of: bytes))
        }
        // A request that has still the snapshot of before gets that one's answer, and the others keep the new one.
        try await account.store.removeHost(AuthorityBench.host)
        let later = account.store.snapshot
        let changed = answers.bytes(of: later.configurations(since: 0, hash: nil), in: later.generation)
        #expect(
            Array(answers.bytes(of: all, in: snapshot.generation).readableBytesView)
                == JSONValue.array(all.map(\.json)).serialized())
        #expect(address(of: answers.bytes(of: later.configurations(since: 0, hash: nil), in: later.generation)) == address(of: changed))
    }
}
