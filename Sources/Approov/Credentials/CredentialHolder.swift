import Synchronization

/// Holds the credential of an app's user, which changes when another user logs in, and is nil when no user is logged in.
///
/// Sessions that use it (``ApproovSessionConfiguration/credential``) wipe what they have of a user before ``update(_:)`` returns: they
/// cancel that user's requests, and forget the tokens that were bound to the user's credential and the cookies of the hosts that got it.
/// Call ``update(_:)`` on the actor that reads the responses of ``ApproovSession/data(for:limit:onProgress:)`` and similar methods. After
/// the call, that actor's code never receives a response for the earlier user.
public final class CredentialHolder: Sendable {
    /// A value and the user that it belongs to.
    struct Snapshot: Sendable {
        var value: String?
        var generation = 0
    }

    private struct State {
        var snapshot = Snapshot()
        var observers: [Observer] = []
    }

    private struct Observer {
        weak var flights: RequestFlights?
    }

    private let state: Mutex<State>
    /// Held during a change, so that changes come one after the other.
    private let changing = Mutex(())

    /// Creates a holder.
    ///
    /// - Parameter value: The whole value of the header, such as "Bearer abc"; nil when no user is logged in.
    /// - Throws: ``ApproovError`` with code `credentialRefused` when it is empty, has a space at an end, or other characters than printable
    ///   ASCII.
    public init(_ value: String? = nil) throws {
        if let value { try Credential.check(value) }
        state = Mutex(State(snapshot: Snapshot(value: value)))
    }

    /// The value; nil when no user is logged in.
    public var value: String? { snapshot.value }

    /// The number of changes of the user so far.
    public var generation: Int { snapshot.generation }

    var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Changes the user: another one logs in, or the present one logs out.
    ///
    /// Wipes the sessions that use this holder before it returns. Requests that were begun before then fail with `CancellationError`. Does
    /// nothing when the value is the same.
    ///
    /// - Parameter value: The whole value of the header; nil when no user is logged in.
    /// - Throws: ``ApproovError`` with code `credentialRefused` when it is empty, has a space at an end, or other characters than printable
    ///   ASCII; the user then stays.
    public func update(_ value: String?) throws {
        if let value { try Credential.check(value) }
        let wiped = changing.withLock { _ -> [FlightRecord] in
            let (before, sessions) = state.withLock { state in
                state.observers.removeAll { $0.flights == nil }
                return (state.snapshot, state.observers.compactMap(\.flights))
            }
            guard before.value != value else { return [] }
            let next = Snapshot(value: value, generation: before.generation + 1)
            // The new value comes last: no request of the new user begins before the cookies and tokens of the old one are gone.
            let wiped = sessions.flatMap { $0.begin(generation: next.generation) }
            let added = state.withLock { state in
                state.snapshot = next
                return state.observers.compactMap(\.flights).filter { flights in !sessions.contains { $0 === flights } }
            }
            // Sessions that were made meanwhile: their requests may have read the old value.
            return wiped + added.flatMap { $0.begin(generation: next.generation) }
        }
        // Without the lock: a cancellation handler of the app may change the user.
        for flight in wiped { flight.cancel() }
    }

    /// Replaces the value with another one of the same user, such as a renewed token; nothing is wiped.
    ///
    /// - Parameters:
    ///   - value: The whole value of the header.
    ///   - generation: The ``generation`` from before the value was asked for.
    /// - Returns: Whether the value was replaced; false when the user has changed since, and the value belongs to the previous one.
    /// - Throws: ``ApproovError`` with code `credentialRefused` when it is empty, has a space at an end, or other characters than printable
    ///   ASCII.
    @discardableResult
    public func renew(_ value: String, of generation: Int) throws -> Bool {
        try Credential.check(value)
        return changing.withLock { _ in
            state.withLock { state in
                guard state.snapshot.generation == generation, state.snapshot.value != nil else { return false }
                state.snapshot.value = value
                return true
            }
        }
    }

    /// Tells a session's requests about changes, as long as the session lives.
    func add(_ flights: RequestFlights) {
        state.withLock { state in
            state.observers.removeAll { $0.flights == nil }
            state.observers.append(Observer(flights: flights))
        }
    }
}
