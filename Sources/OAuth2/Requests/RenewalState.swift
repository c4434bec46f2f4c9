internal import ApproovBase

/// What the tasks of one process know about renewals, besides the store; a value without a lock.
///
/// ``OAuth2Credentials`` holds it under its lock.
struct RenewalState {
    /// A renewal under way, which all requests of one log-in share.
    struct Flight {
        let number: Int
        /// The access token that a server refused; nil for one that expires.
        let refused: String?
        let task: Task<BearerToken, any Error>
        /// The marks of the task, which those who wait for it join.
        let marks: WorkMarks
    }

    /// A token that the server issued but the store did not take.
    ///
    /// Its predecessor may already be revoked.
    struct Unsaved {
        let predecessor: BearerToken
        let token: BearerToken
    }

    /// A renewal that failed, while its token is still valid.
    struct Postponed {
        let token: BearerToken
        /// The clock's uptime at which the next request tries it again.
        let until: Duration
    }

    /// A user whom another process logged in, while the sessions are wiped.
    private struct Noticed {
        let number: Int
        let login: String
        let task: Task<Void, Never>
    }

    /// The longest wait that a server may ask for.
    private static let longestHold: Duration = .seconds(300)

    /// The renewals under way, by log-in; the empty text stands for no token yet.
    private(set) var flights: [String: Flight] = [:]
    private(set) var unsaved: Unsaved?
    var postponed: Postponed?
    /// The failure of a renewal that the server asked to try later, and the clock's uptime until which it is not tried.
    private var held: (error: OAuth2Error, until: Duration)?
    private var lastNumber = 0
    /// The log-in of the last token; nil at first.
    private(set) var login: String?
    /// The number of changes of the user that were noticed so far.
    private(set) var changes = 0
    /// The number of log-ins and log-outs of this process under way.
    private var ownChanges = 0
    private var noticed: Noticed?

    /// Begins a log-in or log-out of this process.
    ///
    /// Renewals under way find their token replaced. If a log-in fails, the user stays, and so does a token that the store did not take.
    /// - Returns: The change to another process's user that is under way; this one must wait for it.
    mutating func beginChange() -> Task<Void, Never>? {
        ownChanges += 1
        changes += 1
        postponed = nil
        held = nil
        defer { noticed = nil }
        return noticed?.task
    }

    /// Ends a log-in or log-out of this process, even one that failed.
    mutating func endChange() {
        ownChanges -= 1
        // A token that was read while it was under way says nothing either.
        changes += 1
    }

    /// Notes that a user has logged in, and forgets what belongs to the previous one.
    ///
    /// If a log-out is under way, the token that the store did not take is kept for it: the log-out has the server revoke it.
    mutating func logIn(_ token: BearerToken) {
        changes += 1
        if ownChanges <= 1 { unsaved = nil }
        login = token.loginID
    }

    /// Notes a token of the store, and returns whether it is another user's, who was not logged in here.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - changes: ``changes`` before the token was read: a token that was read before a change says nothing.
    /// - Returns: Whether it is another user's.
    mutating func isOfAnotherUser(_ token: BearerToken, readAfter changes: Int) -> Bool {
        guard ownChanges == 0, changes == self.changes, login != token.loginID else { return false }
        guard login != nil else {
            login = token.loginID
            return false
        }
        return true
    }

    /// Notes a token of the store, and returns the change of the user if it is another user's, who was not logged in here.
    ///
    /// The request that asks for the token must wait for the change, even if another request has begun it: until the change has wiped it,
    /// it may carry the previous user's cookies.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - changes: ``changes`` before the token was read: a token that was read before a change says nothing.
    ///   - begin: Begins the change, which wipes the sessions and then calls ``publish(_:)`` with the number.
    /// - Returns: The change; nil if there is none, or it is this process's own: all requests that were begun before its end are wiped.
    mutating func change(
        to token: BearerToken, readAfter changes: Int, begin: (_ number: Int) -> Task<Void, Never>
    ) -> Task<Void, Never>? {
        guard isOfAnotherUser(token, readAfter: changes) else { return nil }
        if let noticed, noticed.login == token.loginID { return noticed.task }
        lastNumber += 1
        let task = begin(lastNumber)
        noticed = Noticed(number: lastNumber, login: token.loginID, task: task)
        return task
    }

    /// Makes the user of a change the one who is logged in here, unless another change came after it.
    mutating func publish(_ number: Int) {
        guard let noticed, noticed.number == number else { return }
        changes += 1
        held = nil
        login = noticed.login
        self.noticed = nil
    }

    /// Returns the renewal under way for a log-in, or begins one.
    mutating func flight(
        for login: String, refused: String?, mark: RenewalMark, begin: (_ number: Int, _ marks: WorkMarks) -> Task<BearerToken, any Error>
    ) -> Flight {
        if let flight = flights[login] { return flight }
        lastNumber += 1
        let marks = WorkMarks(mark)
        let flight = Flight(number: lastNumber, refused: refused, task: begin(lastNumber, marks), marks: marks)
        flights[login] = flight
        return flight
    }

    /// Keeps a token until the store has taken it.
    mutating func keep(_ token: BearerToken, over predecessor: BearerToken) { unsaved = Unsaved(predecessor: predecessor, token: token) }

    /// Returns the token that the store did not take, and forgets it; nil if there is none.
    mutating func takeUnsaved() -> Unsaved? { exchange(&unsaved, with: nil) }

    /// Returns the token that the store did not take if it is of a log-in, and forgets it.
    ///
    /// - Parameter login: The log-in.
    /// - Returns: The token; nil if there is none, or it is of another log-in.
    mutating func takeUnsaved(of login: String) -> Unsaved? { unsaved?.predecessor.loginID == login ? takeUnsaved() : nil }

    /// Forgets a token that the store did not take, if the user has changed meanwhile.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - changes: ``changes`` before the renewal.
    ///   - isInPlace: Whether the store still has the earlier token, as during a change and after one that failed.
    /// - Returns: Whether the user has changed, so that the server must revoke the token.
    mutating func forgetUnsaved(_ token: BearerToken, since changes: Int, isInPlace: Bool) -> Bool {
        guard changes != self.changes, !isInPlace else { return false }
        if unsaved?.token == token { unsaved = nil }
        return true
    }

    /// Notes the failure of a renewal, which is not tried again for as long as the server asks.
    ///
    /// - Parameters:
    ///   - error: The failure.
    ///   - pause: How long not to try again; nil for as long as the server asks.
    ///   - changes: ``changes`` before the renewal: that of an earlier user does not hold back the next one's.
    ///   - uptime: The clock's uptime.
    mutating func hold(_ error: OAuth2Error, for pause: Duration? = nil, since changes: Int, at uptime: Duration) {
        guard let delay = pause ?? error.retryAfter, changes == self.changes else { return }
        let until = uptime + min(delay, Self.longestHold)
        if until > held?.until ?? .zero { held = (error, until) }
    }

    /// The failure of the last renewal with the rest of the wait that the server has asked for; nil if a renewal may be tried.
    func failure(at uptime: Duration) -> OAuth2Error? {
        guard let held, uptime < held.until else { return nil }
        var error = held.error
        error.retryAfter = held.until - uptime
        return error
    }

    /// Whether the renewal of a token failed a moment ago.
    func isPostponed(_ token: BearerToken, at uptime: Duration) -> Bool {
        guard let postponed, uptime < postponed.until else { return false }
        return postponed.token == token
    }

    /// Notes the end of a renewal.
    mutating func landed(_ number: Int, for login: String) {
        if flights[login]?.number == number { flights[login] = nil }
    }
}

/// Marks the work of the renewals of some credentials.
final class RenewalMark: WorkMark {
    /// Does nothing: a renewal that waits for other operations needs no change.
    func didSpread() {}
}
