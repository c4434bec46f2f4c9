internal import ApproovBase

/// What the tasks of one process know about renewals, besides the store; a value without a lock.
struct RenewalState {
    /// A renewal under way, which all requests of one log-in share.
    struct Flight {
        let number: Int
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

    /// The renewals under way, by log-in; the empty text stands for no token yet.
    private(set) var flights: [String: Flight] = [:]
    var unsaved: Unsaved?
    private var lastNumber = 0
    /// The log-in of the last token; nil at first.
    private var login: String?
    /// The number of changes of the user that were noticed so far.
    private(set) var changes = 0

    /// Notes that a user has logged in.
    mutating func logIn(_ token: BearerToken) {
        changes += 1
        login = token.loginID
    }

    /// Notes a token of the store, and returns whether it is another user's, who was not logged in here.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - changes: ``changes`` before the token was read: a token that was read before a change says nothing.
    /// - Returns: Whether it is another user's.
    mutating func isAnother(_ token: BearerToken, readAfter changes: Int) -> Bool {
        guard changes == self.changes, login != token.loginID else { return false }
        defer { login = token.loginID }
        guard login != nil else { return false }
        self.changes += 1
        return true
    }

    /// Returns the renewal under way for a log-in, or begins one.
    mutating func flight(for login: String, begin: (_ number: Int, _ marks: WorkMarks) -> Task<BearerToken, any Error>) -> Flight {
        if let flight = flights[login] { return flight }
        lastNumber += 1
        let marks = WorkMarks()
        let flight = Flight(number: lastNumber, task: begin(lastNumber, marks), marks: marks)
        flights[login] = flight
        return flight
    }

    /// Notes the end of a renewal.
    mutating func landed(_ number: Int, for login: String) {
        if flights[login]?.number == number { flights[login] = nil }
    }

    /// Forgets what belongs to a user who logged out.
    ///
    /// Renewals under way find their token replaced.
    mutating func forget() {
        changes += 1
        unsaved = nil
    }
}
