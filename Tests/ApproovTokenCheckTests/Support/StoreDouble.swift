import ApproovTesting
import ApproovTokenCheck
import Synchronization

/// A replay store that does what a test says, and records what it was asked.
final class StoreDouble: ReplayStore {
    struct Use: Sendable, Equatable {
        let jti: String
        let issuer: String?
        let end: Int64
    }

    let uses = Shared<[Use]>([])
    private let answer: @Sendable () async throws -> Bool

    init(_ answer: @escaping @Sendable () async throws -> Bool) { self.answer = answer }

    func consume(_ jti: String, of issuer: String?, until end: Int64) async throws -> Bool {
        uses.change { $0.append(Use(jti: jti, issuer: issuer, end: end)) }
        return try await answer()
    }
}
