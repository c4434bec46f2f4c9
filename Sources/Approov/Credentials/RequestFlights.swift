import CertificatePinning
import Foundation
import FoundationNetworking
import Synchronization

/// The requests of a session that are in flight, and what a wipe removes.
final class RequestFlights: Sendable {
    private struct State {
        var lastID: UInt64 = 0
        var flights: [UInt64: FlightRecord] = [:]
        /// The oldest user whose requests may begin.
        var oldestGeneration = 0
        /// The users of interceptors.
        var users: [User] = []
    }

    private struct User {
        weak var changes: UserChanges?
        /// The hosts that get the user's credential; empty for all hosts.
        var hosts: Set<HostPattern>
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
                state.users.removeAll { $0.changes == nil }
                guard let index = state.users.firstIndex(where: { $0.changes === user.changes }) else {
                    state.users.append(User(changes: user.changes, hosts: Set(user.hosts)))
                    return true
                }
                let hosts = state.users[index].hosts
                state.users[index].hosts = hosts.isEmpty || user.hosts.isEmpty ? [] : hosts.union(user.hosts)
                return false
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
            // A change of the user that is under way wipes requests of the previous user, even those that begin meanwhile.
            let record = FlightRecord(
                generation: generation, url: request.url,
                isWiped: generation < state.oldestGeneration || state.users.contains { $0.changes?.isChanging == true })
            state.flights[state.lastID] = record
            return RequestFlight(record, id: state.lastID, in: self)
        }
    }

    /// Takes a flight off the list.
    func remove(_ id: UInt64) {
        // Returned, so that a record that nothing else holds does not end under the lock.
        _ = state.withLock { $0.flights.removeValue(forKey: id) }
    }

    /// Wipes what the session has of earlier users.
    ///
    /// - Parameter generation: The user from now on.
    /// - Returns: The wiped requests, which the caller must cancel.
    func begin(generation: Int) -> [FlightRecord] {
        let earlier = state.withLock { state in
            state.oldestGeneration = generation
            return Array(state.flights.values)
        }
        let wiped = earlier.filter { $0.generation < generation }
        for flight in wiped { flight.mark() }
        forget(.all)
        return wiped
    }

    /// Wipes requests, cookies and tokens.
    func wipe(_ scope: WipeScope) { wipe(scope) { forget(scope) } }

    /// Wipes all requests, and the cookies and tokens of the hosts that get the credential of a user who changes.
    func wipe(of changes: UserChanges) {
        let hosts = state.withLock { state in state.users.first { $0.changes === changes }?.hosts } ?? []
        wipe(.all) { forget(hosts.isEmpty ? nil : Array(hosts), cached: .all) }
    }

    private func wipe(_ scope: WipeScope, _ forget: () -> Void) {
        var wiped = mark(scope)
        forget()
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

    private func mark(_ scope: WipeScope) -> [FlightRecord] {
        let flights = state.withLock { Array($0.flights.values) }
        let wiped = flights.filter { flight in !flight.isWiped && flight.isWithin(scope) }
        for flight in wiped { flight.mark() }
        return wiped
    }

    /// The hosts that are named as those that get a user's credential; nil if none is.
    private var namedHosts: [HostPattern]? {
        let hosts = (credential?.hosts ?? []) + state.withLock { $0.users.flatMap(\.hosts) }
        return hosts.isEmpty ? nil : hosts
    }

    private func forget(_ scope: WipeScope) {
        guard scope.hosts != [] else { return wipes.wipe(scope) }
        // The hosts of interceptors limit only what a change of their user forgets: other requests may have had a user as well.
        let isLimited = credential != nil && state.withLock { $0.users.allSatisfy { !$0.hosts.isEmpty } }
        forget(scope.hosts ?? (isLimited ? namedHosts : nil), cached: scope)
    }

    /// Forgets cookies and bound tokens of hosts, or all, and has caches remove responses.
    private func forget(_ hosts: [HostPattern]?, cached: WipeScope) {
        storing.withLock { _ in
            // Other sessions have cookies in the shared storage too: only those of named hosts go.
            cookies?.clear(hosts ?? (cookies?.isShared == true ? namedHosts : nil))
        }
        service?.forgetBoundTokens(of: hosts)
        wipes.wipe(cached)
    }
}
