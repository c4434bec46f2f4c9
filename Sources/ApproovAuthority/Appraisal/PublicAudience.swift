internal import Synchronization

/// Holds the authority's own URL once it listens.
final class PublicAudience: Sendable {
    private let state = Mutex<AudienceName?>(nil)

    var value: AudienceName? { state.withLock { $0 } }

    func set(_ name: AudienceName?) {
        state.withLock { $0 = name }
    }
}
