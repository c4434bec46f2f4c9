import Synchronization

/// Tells sessions when the user of a ``CredentialSource`` changes, so that they wipe what they have of the previous one.
///
/// A source keeps one instance, returns it as ``CredentialSource/userChanges``, and makes every change of the user in ``change(_:)``:
///
/// ```swift
/// func logIn(_ token: String, as user: String) async throws {
///     try await changes.change { try await store.save(token, of: user) }
/// }
/// ```
public final class UserChanges: Sendable {
    private struct Session {
        weak var flights: RequestFlights?
    }

    private let sessions = Mutex<[Session]>([])
    /// The number of changes under way.
    private let changing = Atomic(0)

    /// Creates an instance that no session uses yet.
    public init() {}

    /// Whether a change is under way.
    var isChanging: Bool { changing.load(ordering: .acquiring) > 0 }

    /// Wipes the sessions, then changes the user.
    ///
    /// Does what ``ApproovSession/wipe(_:)`` does, for the hosts that get the credential. Requests that were begun before, and those that are
    /// begun before `body` returns, fail with `CancellationError`: none of them is sent with the next user's credential. They fail even if
    /// `body` throws. Do not call it for the renewed credential of the same user.
    ///
    /// - Parameter body: Changes the user.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    nonisolated(nonsending) public func change<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        // Before the requests are marked, so that each is either found or begins as a wiped one.
        changing.add(1, ordering: .sequentiallyConsistent)
        defer { changing.subtract(1, ordering: .sequentiallyConsistent) }
        for flights in sessions.withLock({ $0.compactMap(\.flights) }) { flights.wipe(of: self) }
        return try await body()
    }

    /// Tells a session's requests about changes, as long as the session lives.
    func add(_ flights: RequestFlights) {
        sessions.withLock { sessions in
            sessions.removeAll { $0.flights == nil || $0.flights === flights }
            sessions.append(Session(flights: flights))
        }
    }
}
