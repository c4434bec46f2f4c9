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

    private static let maximumSeen = 64

    /// The renewals under way, by log-in; the empty text stands for no token yet.
    private(set) var flights: [String: Flight] = [:]
    var unsaved: Unsaved?
    private var lastNumber = 0
    /// The log-ins of the access tokens that were handed out last, in that order.
    private var seen: [(accessToken: String, loginID: String)] = []

    /// Notes that a token was handed out.
    mutating func note(_ token: BearerToken) {
        guard seen.last?.accessToken != token.accessToken else { return }
        seen.removeAll { $0.accessToken == token.accessToken }
        if seen.count >= Self.maximumSeen { seen.removeFirst() }
        seen.append((token.accessToken, token.loginID))
    }

    /// The log-in of an access token that was handed out; nil if it is not known any more.
    func loginID(of accessToken: String) -> String? { seen.last { $0.accessToken == accessToken }?.loginID }

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
        unsaved = nil
        seen = []
    }
}
