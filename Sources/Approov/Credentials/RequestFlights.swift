import CertificatePinning
import Foundation
import FoundationNetworking
import Synchronization

/// The requests of a session that are in flight, and what a wipe removes.
final class RequestFlights: Sendable {
    private struct State {
        var lastID: UInt64 = 0
        var flights: [UInt64: Weak] = [:]
        /// The oldest user whose requests may begin.
        var oldestGeneration = 0
        /// The changes of the users of interceptors.
        var changes: [WeakChanges] = []
        /// The hosts that get the credentials of interceptors.
        var hosts: Set<HostPattern> = []
    }

    private struct WeakChanges {
        weak var changes: UserChanges?
    }

    private struct Weak {
        weak var flight: RequestFlight?
    }

    private let state = Mutex(State())
    /// Held while cookies are stored or cleared, so that a wiped request stores none after the wipe.
    private let storing = Mutex(())
    private let credential: SessionCredential?
    private let cookies: SessionCookies?
    private let service: ApproovService?
    private let wipes: SessionWipes

    init(
        credential: SessionCredential?, cookies: SessionCookies?, service: ApproovService?, wipes: SessionWipes, users: [UserScope] = []
    ) {
        self.wipes = wipes
        self.credential = credential
        self.cookies = cookies
        self.service = service
        if let credential, credential.wipesOnChange { credential.holder.add(self) }
        add(users)
    }

    /// Follows the users of further interceptors.
    func add(_ users: [UserScope]) {
        for user in users {
            // Each copy of a session may name the same user again.
            let isNew = state.withLock { state in
                state.hosts.formUnion(user.hosts)
                state.changes.removeAll { $0.changes == nil }
                let isNew = !state.changes.contains { $0.changes === user.changes }
                if isNew { state.changes.append(WeakChanges(changes: user.changes)) }
                return isNew
            }
            if isNew { user.changes.add(self) }
        }
    }

    /// The number of requests in flight.
    var count: Int { state.withLock { $0.flights.count } }

    /// Begins a request, which belongs to the user of this moment.
    func begin(_ request: URLRequest) -> RequestFlight {
        let generation = credential?.holder.generation ?? 0
        return state.withLock { state in
            state.lastID += 1
            // A change of the user that is under way wipes requests of the user before, also those that begin meanwhile.
            let flight = RequestFlight(
                id: state.lastID, generation: generation, url: request.url,
                isWiped: generation < state.oldestGeneration || state.changes.contains { $0.changes?.isChanging == true }, in: self)
            state.flights[state.lastID] = Weak(flight: flight)
            return flight
        }
    }

    func remove(_ id: UInt64) { state.withLock { _ = $0.flights.removeValue(forKey: id) } }

    /// Wipes what the session has of earlier users.
    ///
    /// - Parameter generation: The user from now on.
    /// - Returns: The wiped requests, which the caller must cancel.
    func begin(generation: Int) -> [RequestFlight] {
        let earlier = state.withLock { state in
            state.oldestGeneration = generation
            return state.flights.values.compactMap(\.flight)
        }
        let wiped = earlier.filter { $0.generation < generation }
        for flight in wiped { flight.mark() }
        forget(.all)
        return wiped
    }

    /// Wipes requests, cookies and tokens.
    func wipe(_ scope: WipeScope) {
        var wiped = mark(scope)
        forget(scope)
        // Requests that began before the cookies were gone may carry one.
        wiped += mark(scope)
        for flight in wiped { flight.cancel() }
    }

    /// Stores cookies of a request's response, unless the request was wiped.
    ///
    /// - Throws: `CancellationError` when it was.
    func storeCookies(of flight: RequestFlight, _ store: () -> Void) throws {
        try storing.withLock { _ in
            try flight.check()
            store()
        }
    }

    private func mark(_ scope: WipeScope) -> [RequestFlight] {
        // The last reference to a flight must not end under the lock, which its deinitialiser takes.
        let flights = state.withLock { state in state.flights.values.compactMap(\.flight) }
        let wiped = flights.filter { flight in !flight.isWiped && scope.hosts.map(flight.hasVisited) ?? true }
        for flight in wiped { flight.mark() }
        return wiped
    }

    /// The hosts that get a user's credential; nil if none is named.
    private var credentialHosts: [HostPattern]? {
        let hosts = (credential?.hosts ?? []) + state.withLock { Array($0.hosts) }
        return hosts.isEmpty ? nil : hosts
    }

    private func forget(_ scope: WipeScope) {
        let hosts = scope.hosts ?? credentialHosts
        storing.withLock { _ in cookies?.clear(hosts) }
        service?.forgetBoundTokens(of: hosts)
        wipes.wipe(scope.hosts)
    }
}
