public import Approov
internal import ApproovBase
internal import Foundation
internal import Synchronization

/// Provides the tokens of one client and one authorization, and renews a token that expires or is refused.
///
/// All requests that need a new token share one renewal, even across processes that share the store, so no two of them use a refresh token
/// at once. If the response to a renewal is lost, the next renewal sends the same refresh token again: a server that accepts it only once,
/// without a time of grace, then ends the log-in. A new token is stored before any request carries it. Only the server's `invalid_grant`
/// removes a user's token.
///
/// ```swift
/// let credentials = try OAuth2Credentials(endpoints: endpoints, store: FileTokenStore(directory: tokens, key: .file(keyFile)))
/// try await credentials.logIn(endpoints.issue(redirect.grant(for: request)))
/// ```
///
/// Make one object for each client, authorization and account, and keep it.
public final class OAuth2Credentials: ImmediateCredentialSource {
    /// Asks the authorization server.
    public let endpoints: OAuth2Endpoints
    /// Whether requests act for a user or for the app.
    public let authorization: Authorization
    /// The name of the token in the store.
    public let key: TokenKey
    private let store: any TokenStore
    /// ``store``, if it is read without waiting.
    private let immediateStore: (any ImmediateTokenStore)?
    private let strategy: any RefreshStrategy
    private let clientGrant: any TokenGrant
    private let renewalLead: TimeInterval
    private let observer: (any TokenFetchObserver)?
    private let changes = UserChanges()
    private let state = Mutex(RenewalState())
    /// Marks the work of each renewal, so that one that waits for itself is noticed.
    private let mark = RenewalMark()
    /// How long a renewal that failed is not tried again while the token is still valid.
    private static let pauseAfterFailure: Duration = .seconds(5)
    /// The longest wait for the renewal of a token that is still valid.
    private static let longestWait: Duration = .seconds(5)
    /// How often a log-out reads a token again that was renewed meanwhile.
    private static let maximumAttempts = 3

    /// Makes the credentials; asks nothing yet.
    ///
    /// - Parameters:
    ///   - endpoints: Asks the authorization server.
    ///   - authorization: Whether requests act for a user or for the app.
    ///   - store: Keeps the token.
    ///   - account: The app's own name for the user's account, if it has several. Credentials of the app itself that ask for another scope
    ///     or audience need another name, too: under one name they share one token.
    ///   - refresh: The way to renew a token.
    ///   - clientGrant: The grant that provides a token to the app itself when there is none. It is not part of the token's key: see
    ///     `account`.
    ///   - renewalLead: How long before its expiry a token is renewed, at most half of its lifetime. By default, a token is renewed in the
    ///     last minute of its lifetime, or in the last tenth if that is shorter. The lead has no effect on a token that only a log-in can
    ///     renew.
    ///   - observer: Hears when a fetch of a token begins and how it ends.
    /// - Throws: ``OAuth2Error`` with code `configurationError` for Basic authorization of a user, or of a client without a secret.
    public init(
        endpoints: OAuth2Endpoints, authorization: Authorization = Authorization(level: .user), store: any TokenStore, account: String = "",
        refresh: any RefreshStrategy = RefreshTokenStrategy(), clientGrant: any TokenGrant = ClientCredentialsGrant(),
        renewalLead: Duration = .zero, observer: (any TokenFetchObserver)? = nil
    ) throws {
        if authorization.type == .basic {
            guard authorization.level == .client, endpoints.client.secret != nil else {
                throw OAuth2Error(
                    .configurationError, "Basic authorization needs the level .client and a client with a secret; use .bearer for users")
            }
        }
        self.endpoints = endpoints
        self.authorization = authorization
        self.store = store
        immediateStore = store as? any ImmediateTokenStore
        strategy = refresh
        self.clientGrant = clientGrant
        self.renewalLead = renewalLead / .seconds(1)
        self.observer = observer
        key = TokenKey(client: endpoints.client, authorization: authorization, account: account)
    }

    /// Tells the sessions with an ``OAuth2Interceptor`` of these credentials when the user changes.
    public var userChanges: UserChanges? { changes }

    /// Stores the token of a user who has just logged in, in the place of an earlier user's.
    ///
    /// Wipes the sessions with an ``OAuth2Interceptor`` of these credentials first (`ApproovSession.wipe(_:)`). Their requests that were
    /// begun before this method returns fail with `CancellationError`, including those that wait at a gate or for their next attempt. If an
    /// actor calls it, none of the earlier user's responses reaches the actor's code from this call on.
    ///
    /// It does not revoke the earlier user's token: call ``logOut()`` first.
    /// - Parameter token: The token that a grant issued.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` or `storeBusy`. The earlier user is then still logged in, unless the store failed
    ///   after it had taken the token: then the next request finds the new user, and wipes the sessions again.
    nonisolated(nonsending) public func logIn(_ token: BearerToken) async throws {
        try await changes.change {
            let noticed = state.withLock { $0.beginChange() }
            defer { state.withLock { $0.endChange() } }
            // It must not wipe the requests of this user afterwards.
            await noticed?.value
            try await store.store(token, for: key)
            state.withLock { $0.logIn(token) }
        }
    }

    /// Removes the token from the store and from memory, and asks the server to revoke it if it has an endpoint for that.
    ///
    /// Wipes the sessions as ``logIn(_:)`` does. If a renewal is under way, even in another process, its result is discarded or revoked. If
    /// another process logs in another user meanwhile, that user's token stays. If the server cannot be reached, the token is removed from
    /// the store all the same. The call waits for the server, at most 30 seconds; if its task is cancelled, the revocation goes on without
    /// it.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` or `storeBusy` when the token cannot be removed; if it could be read, the server
    ///   was asked to revoke it all the same. The error of the store if it cannot be read at first, and then has the token of another user
    ///   than the one who was logged in here: call the method again to log that user out.
    nonisolated(nonsending) public func logOut() async throws {
        let (tokens, failure) = try await changes.change { () async throws -> ([BearerToken], (any Error)?) in
            let (noticed, earlier) = state.withLock { ($0.beginChange(), $0.takeUnsaved()) }
            defer { state.withLock { $0.endChange() } }
            await noticed?.value
            // Not a child task: a store may give up when its caller is cancelled.
            let (removed, failure) = await Task { await removeToken() }.value
            // The server's newest token, which the store did not take, before or meanwhile.
            let later = state.withLock { state in
                guard authorization.level == .user, let removed else { return state.takeUnsaved() }
                return state.takeUnsaved(of: removed.loginID)
            }
            let unsaved = [earlier, later].compactMap(\.self)
            // Revoking the successor also ends this refresh token.
            let isSucceeded = removed?.refreshToken != nil && unsaved.contains { $0.predecessor == removed }
            let tokens = unsaved.map(\.token) + (isSucceeded ? [] : [removed].compactMap(\.self))
            // The store may have taken it after all.
            return (tokens.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }, failure)
        }
        // Not a child task: the tokens are gone here, so they must be revoked even if the caller's task is cancelled.
        await Task { [endpoints] in
            await withTaskGroup(of: Void.self) { group in
                for token in tokens { group.addTask { try? await endpoints.revoke(token) } }
            }
        }.waitForEnd()
        if let failure { throw failure }
    }

    /// Removes the token of the store, unless another user logs in meanwhile.
    ///
    /// - Returns: The token that was removed, could not be removed, or was replaced by another user's; nil if there was none, or it cannot
    ///   be read. The error if it is still there.
    private func removeToken() async -> (token: BearerToken?, failure: (any Error)?) {
        let remembered = state.withLock { $0.login }
        var token: BearerToken?
        /// The first failure, after which the store is tried once more.
        var failure: (any Error)?
        /// Whether a token is another user's. The app's own token is removed whichever process has fetched it.
        func isForeign(_ stored: BearerToken, to login: String?) -> Bool {
            authorization.level == .user && login.map { $0 != stored.loginID } ?? false
        }
        /// Whether the token changed meanwhile, so that the present one may be another user's, and is not removed unread.
        var hasChanged = false
        var (attempts, isEmpty) = (0, false)
        while true {
            do {
                guard let stored = try await store.token(for: key) else {
                    isEmpty = true
                    break
                }
                // The store has lost the token that must be revoked.
                if isForeign(stored, to: token?.loginID) { return (token, nil) }
                // Without a token to compare with, it may be another process's log-in, or one of this process whose storing failed.
                if token == nil, let failure, isForeign(stored, to: remembered) { return (nil, failure) }
                token = stored
                guard attempts < Self.maximumAttempts else { throw Self.keepsChanging }
                attempts += 1
                if try await store.replace(stored, with: nil, for: key) { return (token, nil) }
                hasChanged = true
                // Another process has renewed the token meanwhile, so the new one must be revoked, or another user has logged in.
            } catch let error as OAuth2Error where error.code == .storeBusy || error.isUnanswered {
                // Another process changes the token: one that is removed unread could be another user's. Or the user was asked to unlock
                // the store: another call would ask, or wait, again.
                return (token, error)
            } catch {
                guard !hasChanged || authorization.level == .client else { return (token, error) }
                guard failure == nil else { break }
                failure = error
            }
        }
        do {
            if isEmpty, authorization.level == .user {
                // What an earlier failure left behind, and not the token of a user who has logged in since the store was read.
                try await store.removeLeftovers(for: key)
            } else {
                // A store that cannot read or replace a token may still be able to remove it.
                try await store.remove(for: key)
            }
            return (token, nil)
        } catch {
            return (token, error)
        }
    }

    /// Returns a valid token, renewed if necessary.
    ///
    /// A token is renewed before it expires. If the renewal fails, for example because the server cannot be reached, another process holds
    /// the store's lock, or the store cannot be written, the token is used until it expires. Until ten seconds before its end it is also
    /// used if the renewal takes longer than five seconds. If the server asks for a wait (`Retry-After`), no renewal is tried for that
    /// long, at most five minutes.
    ///
    /// If another process has logged in another user, this call wipes the sessions as ``logIn(_:)`` does.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` with code `loginRequired` when only a log-in helps; the errors of the store, of the strategy and of the
    ///   server; `CancellationError`.
    public func token() async throws -> BearerToken {
        let before = state.withLock { $0.changes }
        let stored = try await storedToken()
        if let stored, authorization.level == .user { await noteUser(of: stored, readAfter: before) }
        if let stored, isUsable(stored) { return stored }
        if stored == nil, authorization.level == .user { throw Self.notLoggedIn }
        guard let stored, isValid(stored), !hasUnsavedSuccessor(stored) else { return try await renewed(stored, refused: nil) }
        let outcome = await renewedSoon(stored)
        if case .success(let token)? = outcome { return token }
        if case .failure(let error)? = outcome, !Self.leavesTokenInUse(error) { throw error }
        // It may have been removed or replaced meanwhile, or the server may have issued its successor, which is not stored yet.
        guard isValid(stored), try await storedToken() == stored, !hasUnsavedSuccessor(stored) else {
            return if let outcome { try outcome.get() } else { try await renewed(stored, refused: nil) }
        }
        state.withLock { $0.postponed = .init(token: stored, until: endpoints.clock.uptime + Self.pauseAfterFailure) }
        return stored
    }

    /// Renews a token that is still valid.
    ///
    /// - Returns: The new token, or the failure; nil if the renewal takes longer than the token may wait for it. It then goes on.
    private func renewedSoon(_ stored: BearerToken) async -> Result<BearerToken, any Error>? {
        let renew: @Sendable () async -> Result<BearerToken, any Error> = { [self] in
            do { return .success(try await renewed(stored, refused: nil)) } catch { return .failure(error) }
        }
        // A token that ends soon after the wait would help no one.
        let left = Duration.seconds(stored.expiresAt.timeIntervalSince(endpoints.clock.date))
        guard left > Self.longestWait * 2 else { return await renew() }
        let outcome = await endpoints.clock.withTimeout(Self.longestWait, renew)
        return Task.isCancelled ? .failure(CancellationError()) : outcome
    }

    /// Whether a renewal failed for a reason that says nothing about the token, which is then used until it expires.
    private static func leavesTokenInUse(_ failure: any Error) -> Bool {
        if failure is CancellationError { return false }
        guard let error = failure as? OAuth2Error else { return true }
        return error.code != .loginRequired && error.code != .configurationError && !error.isUnanswered
    }

    /// Whether the server has issued a token's successor, which the store did not take: the server may have revoked the token.
    private func hasUnsavedSuccessor(_ token: BearerToken) -> Bool { state.withLock { $0.unsaved?.predecessor } == token }

    /// Waits until no renewal is under way, at most 30 seconds for each; returns at once if the task is cancelled.
    ///
    /// Call it before the program ends: the server may have replaced a refresh token whose successor is not in the store yet.
    public func finishRenewals() async {
        while !Task.isCancelled, let flight = state.withLock({ $0.flights.values.first }) { await flight.task.waitForEnd() }
    }

    /// The token of the store; nil if there is none.
    ///
    /// The app's own token that cannot be read counts as none: a new one takes its place.
    private func storedToken() async throws -> BearerToken? {
        do {
            return try await store.token(for: key)
        } catch let error as OAuth2Error where error.code == .tokenDamaged || error.code == .wrongKey {
            guard authorization.level == .client else { throw error }
            return nil
        }
    }

    /// Whether requests carry the token without a renewal first.
    private func isUsable(_ token: BearerToken) -> Bool {
        guard isDue(token) else { return true }
        return isValid(token) && state.withLock { $0.isPostponed(token, at: endpoints.clock.uptime) }
    }

    private func isValid(_ token: BearerToken) -> Bool { endpoints.clock.date < token.expiresAt }

    private func isDue(_ token: BearerToken) -> Bool {
        // Nothing comes in the place of a token that only a log-in can renew.
        isRenewable(token) ? token.isDue(at: endpoints.clock.date, lead: renewalLead) : !isValid(token)
    }

    /// Whether the server gives a new token without a log-in.
    private func isRenewable(_ token: BearerToken) -> Bool {
        authorization.level == .client || hasRefresh(token)
    }

    private func hasRefresh(_ token: BearerToken) -> Bool { token.refreshToken != nil || !(strategy is RefreshTokenStrategy) }

    /// Wipes the sessions if another process has logged the token's user in, or waits until another request has done so.
    private func noteUser(of token: BearerToken, readAfter before: Int) async {
        let change = state.withLock { state in
            state.change(to: token, readAfter: before) { number in
                // Not a child task: the change belongs to all requests that wait for it.
                Task { [self] in
                    await changes.change { self.state.withLock { $0.publish(number) } }
                }
            }
        }
        await change?.value
    }

    /// Returns the credential for a request.
    ///
    /// - Returns: The credential.
    /// - Throws: The errors of ``token()``.
    public func credential() async throws -> Credential {
        if authorization.type == .basic, let header = endpoints.client.basicHeader { return try Credential(headerValue: header) }
        return try await token().credential
    }

    /// Returns the credential for a request if the token is in memory and valid; nil if the caller must wait for ``credential()``.
    package func credentialAtOnce() -> Credential? {
        guard authorization.type == .bearer, let immediateStore else { return nil }
        let before = state.withLock { $0.changes }
        guard let stored = immediateStore.tokenAtOnce(for: key), isUsable(stored) else { return nil }
        // Another user's token must wait until the sessions are wiped.
        if authorization.level == .user, state.withLock({ $0.isOfAnotherUser(stored, readAfter: before) }) { return nil }
        return stored.credential
    }

    /// Renews the token that a server refused.
    ///
    /// - Parameter refused: The credential that the server refused.
    /// - Returns: The new credential; nil for Basic authorization.
    /// - Throws: The errors of ``token()``.
    public func renew(after refused: Credential) async throws -> Credential? {
        guard authorization.type == .bearer, let stored = try await storedToken() else { return nil }
        guard authorization.level == .client || refused.owner == nil || stored.loginID == refused.owner else { return nil }
        guard stored.header == refused.headerValue else { return stored.credential }
        let token = try await renewed(stored, refused: stored.accessToken)
        return token.accessToken == stored.accessToken ? nil : token.credential
    }

    // MARK: Renewal

    private func renewed(_ stored: BearerToken?, refused: String?) async throws -> BearerToken {
        let login = stored?.loginID ?? ""
        if let failure = state.withLock({ $0.failure(at: endpoints.clock.uptime) }) { throw failure }
        if let marks = WorkMarks.current, marks.contains(where: { $0 === mark }) { throw Self.waitsForItself }
        let flight = state.withLock { state in
            state.flight(for: login, refused: refused, mark: mark) { number, marks in
                // Not a child task: the renewal belongs to all its waiters, and ends even if all of them are cancelled. A refresh token
                // that was sent must not be lost.
                Task { [self] in
                    defer {
                        self.state.withLock { $0.landed(number, for: login) }
                        marks.end()
                    }
                    return try await WorkMarks.$current.withValue(marks) {
                        try await renewInTurn(login: stored?.loginID, refused: refused)
                    }
                }
            }
        }
        flight.marks.joinCurrent()
        let token = try await flight.task.valueUnlessCancelled
        // A renewal that began before the server refused this token may find it in the store, where another process has put it.
        guard let refused, flight.refused != refused, token.accessToken == refused else { return token }
        return try await renewed(token, refused: refused)
    }

    /// Renews the token, unless another process has done so while this one waited for its turn.
    private func renewInTurn(login: String?, refused: String?) async throws -> BearerToken {
        try await store.withExclusiveAccess(for: key) { [self] in
            let changes = state.withLock { $0.changes }
            let stored = try await storedToken()
            // The app's own token may come from another grant, which another process has fetched.
            if let login, authorization.level == .user {
                guard let stored, stored.loginID == login else { throw Self.userChanged }
            }
            if let stored, !isDue(stored), stored.accessToken != refused { return stored }
            if let stored, let unsaved = state.withLock({ $0.unsaved }), unsaved.predecessor == stored {
                let token = try await saved(unsaved.token, over: stored, since: changes)
                return token.isExpired(at: endpoints.clock.date) ? try await fetched(over: token, since: changes) : token
            }
            return try await fetched(over: stored, since: changes)
        }
    }

    /// Renews a token, and tells the observer.
    private func fetched(over stored: BearerToken?, since changes: Int) async throws -> BearerToken {
        tellObserver { $0.willFetch(for: key) }
        do {
            let token = try await renewal(of: stored, since: changes)
            tellObserver { $0.didFetch(for: key, error: nil) }
            return token
        } catch {
            if let error = error as? OAuth2Error { state.withLock { $0.hold(error, since: changes, at: endpoints.clock.uptime) } }
            tellObserver { $0.didFetch(for: key, error: error) }
            throw error
        }
    }

    /// Tells the observer without the renewal's marks: no task that it makes is part of the renewal.
    private func tellObserver(_ call: (any TokenFetchObserver) -> Void) {
        guard let observer else { return }
        WorkMarks.$current.withValue(nil) { call(observer) }
    }

    private func renewal(of stored: BearerToken?, since changes: Int) async throws -> BearerToken {
        guard let stored else {
            let issued = try await endpoints.issue(clientGrant).ofApp()
            do {
                try await store.store(issued, for: key)
            } catch {
                // Otherwise each request would fetch a token, and drop it.
                if let error = error as? OAuth2Error {
                    state.withLock { $0.hold(error, for: Self.pauseAfterFailure, since: changes, at: endpoints.clock.uptime) }
                }
                try? await endpoints.revoke(issued)
                throw error
            }
            guard state.withLock({ $0.changes }) != changes else { return issued }
            // A log-out meanwhile found no token: nothing may remain of this one.
            let removal = await Task { try await store.replace(issued, with: nil, for: key) }.result
            try? await endpoints.revoke(issued)
            _ = try removal.get()
            throw Self.userChanged
        }
        do {
            if hasRefresh(stored) {
                // Proves that the store takes a token, for example that the disk is not full, before the server replaces the refresh token:
                // it may accept the old one only once, and a new one that is not stored is lost when this process ends.
                guard try await store.replace(stored, with: stored, for: key) else { throw Self.userChanged }
                return try await saved(strategy.refresh(stored, at: endpoints).succeeding(stored), over: stored, since: changes)
            }
        } catch let error as OAuth2Error where endsLogIn(error) {
            // The server has ended this log-in, or the app's own token cannot be refreshed. No other answer removes a token.
            _ = try await store.replace(stored, with: nil, for: key)
            guard authorization.level == .client else {
                throw OAuth2Error(
                    .loginRequired, "the server does not renew the token any more; log in again", serverError: .invalidGrant,
                    status: error.status)
            }
            return try await renewal(of: nil, since: changes)
        }
        guard authorization.level == .client else {
            throw OAuth2Error(.loginRequired, "the token has expired or was refused, and has no refresh token; log in again")
        }
        return try await saved(endpoints.issue(clientGrant).succeeding(stored), over: stored, since: changes)
    }

    /// Whether the server refused a refresh token so that it never accepts it again.
    ///
    /// The app itself can get another token without one, so that each refusal of the refresh itself counts (RFC 6749, section 5.2).
    private func endsLogIn(_ error: OAuth2Error) -> Bool {
        guard error.code == .requestRefused, let reason = error.serverError else { return false }
        return reason == .invalidGrant || authorization.level == .client && [.unauthorizedClient, .unsupportedGrantType].contains(reason)
    }

    /// Stores a new token before any request carries it, and returns the token to use.
    ///
    /// - Parameters:
    ///   - token: The new token.
    ///   - stored: The token in whose place it comes.
    ///   - changes: The number of changes of the user before `stored` was read.
    /// - Returns: The token to use.
    /// - Throws: The errors of the store; ``OAuth2Error`` with code `loginRequired` when the user changed meanwhile.
    private func saved(_ token: BearerToken, over stored: BearerToken, since changes: Int) async throws -> BearerToken {
        state.withLock { $0.keep(token, over: stored) }
        let isSaved: Bool
        do {
            isSaved = try await store.replace(stored, with: token, for: key)
        } catch {
            // A user who logged out meanwhile must leave nothing, and no one asks for this token again. A change that failed left the
            // token. A change that begins now takes the token itself. A store that waits for its user would ask, or wait, again.
            let mayHaveChanged = state.withLock { $0.changes } != changes && (error as? OAuth2Error)?.isUnanswered != true
            let isInPlace = mayHaveChanged ? (try? await storedToken()) == stored : true
            if state.withLock({ $0.forgetUnsaved(token, since: changes, isInPlace: isInPlace) }) { try? await endpoints.revoke(token) }
            throw error
        }
        // If the store failed, the token stays in memory: the next request tries to store it again, because the server may have revoked its
        // predecessor.
        state.withLock { _ = $0.takeUnsaved() }
        if isSaved { return token }
        // The user logged out or another one logged in meanwhile: nothing may remain of this token.
        try? await endpoints.revoke(token)
        // The app is the same, whatever token it has.
        guard authorization.level == .client, let other = try await storedToken() else { throw Self.userChanged }
        return other
    }

    private static let notLoggedIn = OAuth2Error(.loginRequired, "no user is logged in; log in first")
    private static let keepsChanging = OAuth2Error(.storeBusy, "other processes keep changing the token; log out again")
    private static let userChanged = OAuth2Error(
        .loginRequired, "the user of this request logged out, or another one logged in; send the request again for the new user")
    private static let waitsForItself = OAuth2Error(
        .configurationError,
        "the renewal of a token requested that same token; make the strategy or the grant send its requests without these credentials")
}
