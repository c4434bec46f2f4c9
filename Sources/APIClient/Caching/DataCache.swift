package import Approov
public import ApproovBase
package import Foundation
internal import FoundationNetworking
internal import HTTPClient
internal import Synchronization

/// Keeps the responses to GET requests in memory while they are fresh, and lets equal requests at the same time share one response.
///
/// ```swift
/// client.cache = DataCache()
/// let avatar = try await client.cachedData(for: "users/7/avatar")
/// show(avatar.data, isFromCache: avatar.isFromCache)
/// ```
///
/// It is a private cache (RFC 9111). A response is kept when its status is 200 and its headers give it a lifetime (`max-age` or `Expires`),
/// unless they say `no-store` or `no-cache`, or it came after a redirect. Stale responses are not used. A response from the cache has the
/// headers with which it came from the server; its `Age` does not count the time in the cache.
///
/// Requests share a response only if the session, its user, the URL and all header fields that the app, the session and its interceptors
/// send are the same. So a response that varies by a header (`Vary`) is kept only if that header is one of them, and not a token or a
/// signature; one with `Vary: *` is not kept. A response to a request that a secure string or the session's policy changed is neither kept
/// nor shared. The session's interceptors and validators are called for a response from the cache, too;
/// observers, the gate and retriers are not. A session with `perRequestHeaders` keeps nothing.
///
/// A wipe of the session and a change of its user remove the session's responses. A request that began before leaves no response in the
/// cache. A request for a new response removes the one in the cache, unless no response comes or it has a 5xx status.
///
/// When the cache is full, it removes the least recently used responses. It keeps no response that takes more than a quarter of it.
public final class DataCache: Sendable {
    /// What a waiter gets.
    private enum Landing: Sendable {
        case response(CachedData)
        /// The request was sent in another form, such as for the next user; this one must be sent for itself.
        case apart
    }

    /// Requests with equal keys share a response.
    private struct Key: Hashable, Sendable {
        let session: UUID
        /// The caller's URL, which an interceptor may have changed in the form.
        let url: TransportURL?
        let form: RequestForm
        /// The maximum size of the content; a flight with a smaller one may fail.
        let limit: Int?
    }

    /// A caller that waits.
    private struct Waiter: Sendable {
        let id: UInt64
        let session: ObjectIdentifier
        let timeout: TimeInterval
        let continuation: CheckedContinuation<Landing, any Error>
    }

    /// A flight under way, and what to know about it when it lands.
    private struct LaunchedFlight: Sendable {
        let number: UInt64
        /// The waiter whose request was sent.
        let first: UInt64
        let session: ApproovSession
        let timeout: TimeInterval
        let key: Key
        let probe: RequestProbe
        /// The uptime when it began.
        let begun: Duration
    }

    private typealias State = DataCacheState<Key, Waiter>

    private let state: Mutex<State>
    /// The tasks of the flights, by number.
    private let tasks = Mutex<[UInt64: Task<Void, Never>]>([:])
    private let time: any TimeSource

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: The size in bytes of the content and heads of all responses; 60 MiB by default.
    ///   - clock: The clock.
    public init(capacity: Int = 60 << 20, clock: any TimeSource = SystemTimeSource()) {
        state = Mutex(State(capacity: capacity) { [$0.url, $0.form.url].compactMap { $0 } })
        time = clock
    }

    /// The number of responses in the cache; stale ones count until room is needed or they are asked for.
    public var count: Int { state.withLock { $0.count } }

    /// The bytes in use; content, heads and about 1 KiB for each response.
    public var usedBytes: Int { state.withLock { $0.usedBytes } }

    /// The number of requests under way.
    var flightCount: Int { state.withLock { $0.flightCount } }

    /// The number of callers that wait.
    var waiterCount: Int { state.withLock { $0.waiterCount } }

    /// Removes all responses; requests under way leave none.
    public func removeAll() { state.withLock { $0.remove { _ in true } } }

    /// Removes the responses of a session to requests for a URL, before or after interceptors changed it.
    func remove(_ url: URL, of session: ApproovSession) {
        guard let url = try? TransportURL(url) else { return }
        let id = session.wipes.id
        state.withLock { $0.remove(url) { $0.session == id && ($0.url == url || $0.form.url == url) } }
    }

    /// Returns the response to a request from the cache, from a request under way, or from the server.
    func data(
        for request: URLRequest, _ cacheable: CacheableRequest?, over session: ApproovSession, limit: Int?
    ) async throws -> CachedData {
        guard let cacheable, case let use = CacheRules.use(of: cacheable), use != .none else {
            return try await Self.load(request, over: session, limit)
        }
        session.wipes.add(self)
        let url = request.url.flatMap { try? TransportURL($0) }
        let key = Key(session: session.wipes.id, url: url, form: cacheable.form, limit: limit)
        let id = state.withLock { $0.newID() }
        let landing = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Landing, any Error>) in
                let waiter = Waiter(
                    id: id, session: ObjectIdentifier(session), timeout: request.timeoutInterval, continuation: continuation)
                let now = time.uptime
                switch state.withLock({ $0.enlist(waiter, id: id, for: key, isReload: use == .reload, now: now) }) {
                case .hit(let entry):
                    continuation.resume(returning: .response(CachedData(data: entry.data, head: entry.head, isFromCache: true)))
                    return
                case .start(let number, let marks):
                    marks.joinCurrent()
                    launch(number, for: id, marks, request, key, session)
                case .join(let marks): marks.joinCurrent()
                }
                // The cancellation handler may have run before the waiter was enlisted.
                if Task.isCancelled { withdraw(id, key) }
            }
        } onCancel: {
            withdraw(id, key)
        }
        guard case .response(let response) = landing else { return try await Self.load(request, over: session, limit) }
        // This session's validators may differ from the validators of the session that asked the server.
        try session.validate(response.head, response.data)
        return response
    }

    private static func load(_ request: URLRequest, over session: ApproovSession, _ limit: Int?) async throws -> CachedData {
        let (data, head) = try await session.data(for: request, limit: limit, noting: nil)
        return CachedData(data: data, head: head, isFromCache: false)
    }

    private func withdraw(_ id: UInt64, _ key: Key) {
        let (waiter, cancelled) = state.withLock { $0.withdraw(id: id, for: key) }
        if let cancelled { tasks.withLock { $0.removeValue(forKey: cancelled) }?.cancel() }
        waiter?.continuation.resume(throwing: CancellationError())
    }

    /// Starts a flight, which belongs to all its waiters; the first is the one whose request is sent.
    private func launch(
        _ number: UInt64, for first: UInt64, _ marks: WorkMarks, _ request: URLRequest, _ key: Key, _ session: ApproovSession
    ) {
        tasks.withLock { tasks in
            tasks[number] = Task { [self] in
                let flight = LaunchedFlight(
                    number: number, first: first, session: session, timeout: request.timeoutInterval, key: key,
                    probe: RequestProbe(request), begun: time.uptime)
                let result: Result<(Data, HTTPURLResponse), any Error>
                do {
                    result = .success(
                        try await WorkMarks.$current.withValue(marks) {
                            try await session.data(for: request, limit: key.limit, noting: flight.probe)
                        })
                } catch {
                    result = .failure(error)
                }
                land(flight, result)
                marks.end()
            }
        }
        // The last waiter may have left before the task could be found.
        let isWanted = state.withLock { $0.isWanted(number, for: key) }
        if !isWanted { tasks.withLock { $0.removeValue(forKey: number) }?.cancel() }
    }

    private func land(_ flight: LaunchedFlight, _ result: Result<(Data, HTTPURLResponse), any Error>) {
        let (key, probe) = (flight.key, flight.probe)
        tasks.withLock { _ = $0.removeValue(forKey: flight.number) }
        // The user, a cookie or what an interceptor adds may have changed since the key was made. A redirect may have had further steps,
        // to which another waiter's request would have carried other fields.
        let isSame = probe.form == key.form
        // The first waiter gets the response to its own request in any form, unless the user changed.
        let firstMayHaveIt = isSame || probe.hasGeneration(key.form.generation)
        switch result {
        case .success(let (data, head)):
            let beginning = time.date - (time.uptime - flight.begun) / .seconds(1)
            let lifetime = isSame ? CacheRules.lifetime(of: head, probe, now: beginning) : .zero
            // A server that fails says nothing about the response that is kept (RFC 9111, section 4.3.3). One that redirects does.
            var change = isSame && head.statusCode >= 500 ? State.Change.keep : .remove
            if lifetime > .zero, let kept = CacheRules.kept(head) {
                change = .store(
                    State.Entry(data: data, head: kept, freshUntil: flight.begun + lifetime, size: CacheRules.size(of: data, kept)))
            }
            let response = Landing.response(CachedData(data: data, head: head, isFromCache: false))
            for waiter in state.withLock({ $0.land(flight.number, for: key, change) }) {
                let isGiven = waiter.id == flight.first ? firstMayHaveIt : isSame
                waiter.continuation.resume(returning: isGiven ? response : .apart)
            }
        case .failure(let error):
            let failure = error as? ApproovError
            let isRefused = failure?.code == .responseRefused
            // A request that was not sent has no form.
            let othersMayHaveIt = isSame || probe.isUnsent
            // A request that got no answer says nothing about the kept response. A redirect is an answer, and so is a response that a
            // validator refuses, unless the server failed.
            let status = failure?.refusedResponse?.head?.statusCode ?? 0
            let isAnswered = isRefused && status < 500 || failure?.code == .redirectRefused
            for waiter in state.withLock({ $0.land(flight.number, for: key, othersMayHaveIt && !isAnswered ? .keep : .remove) }) {
                // Another session's validators may accept the response, its retriers may repeat the request, and another timeout is longer.
                let isGiven =
                    if waiter.id == flight.first {
                        firstMayHaveIt || !isRefused
                    } else {
                        othersMayHaveIt && waiter.session == ObjectIdentifier(flight.session) && waiter.timeout == flight.timeout
                    }
                if isGiven {
                    waiter.continuation.resume(throwing: error)
                } else {
                    waiter.continuation.resume(returning: .apart)
                }
            }
        }
    }
}

extension DataCache: WipeObserver {
    /// Removes the responses of a session to requests that the scope of a wipe contains, before or after interceptors changed them.
    package func wipe(_ session: UUID, _ scope: WipeScope) {
        state.withLock { state in
            state.remove { key in
                key.session == session && (scope.contains(key.form.url) || key.url.map { scope.contains($0) } ?? false)
            }
        }
    }
}
