import Testing

@testable import Approov

@Suite struct TokenRenewalStateTests {
    /// Renewals, with times in seconds.
    private final class Renewals {
        var state = TokenRenewalState()

        /// Whether a token is replaced that is old enough unless the test says otherwise.
        func renews(_ host: String = "api.test", at now: Double, age: Double = 31, length: Int = 300) -> Bool {
            let life = TokenLife(since: .seconds(now - age), length: .seconds(length))
            return state.renews(host, life: life, now: .seconds(now))
        }

        func accepts(_ host: String, since: Double) {
            state.accepted(host, life: TokenLife(since: .seconds(since), length: .seconds(300)))
        }
    }

    @Test("Only a token older than 30 s is replaced")
    func age() {
        let renewals = Renewals()
        #expect(!renewals.renews(at: 0, age: 0))
        #expect(!renewals.renews(at: 30, age: 30))
        #expect(renewals.renews(at: 30.1, age: 30.1))
    }

    @Test("A host's tokens are replaced once in 30 s, and other hosts do not count")
    func interval() {
        let renewals = Renewals()
        #expect(renewals.renews("a.test", at: 100))
        #expect(!renewals.renews("a.test", at: 129))
        #expect(renewals.renews("b.test", at: 129))
        #expect(renewals.renews("a.test", at: 130))
    }

    @Test("While the API rejects every token the interval doubles, up to the token's life", arguments: [300, 60, 45, 10])
    func doubling(_ length: Int) {
        let renewals = Renewals()
        let renewed = (100..<1_600).filter { renewals.renews(at: Double($0), length: length) }
        let pauses = zip(renewed.dropFirst(), renewed).map { $0.0 - $0.1 }
        let expected = [30, 60, 120, 240, 300, 300].map { max(30, min($0, length)) }
        #expect(Array(pauses.prefix(expected.count)) == expected)
    }

    @Test("After the API accepts a new token, the interval is 30 s again")
    func accepted() {
        let renewals = Renewals()
        for second in [100, 130, 190] {
            #expect(renewals.renews("api.test", at: Double(second)))
        }
        // The rejected token itself, which another request may still carry, does not count.
        renewals.accepts("api.test", since: 190 - 31)
        #expect(renewals.state.isOpen)
        renewals.accepts("api.test", since: 190)
        #expect(!renewals.state.isOpen)
        #expect(!renewals.renews("api.test", at: 219))
        #expect(renewals.renews("api.test", at: 220))
        #expect(renewals.renews("api.test", at: 250))
    }

    @Test("A bounded number of hosts is remembered, and no host takes another one's place before its time")
    func bounded() {
        let renewals = Renewals()
        for number in 0..<TokenRenewalState.maximumHosts {
            #expect(renewals.renews("h\(number).test", at: 100))
        }
        #expect(!renewals.renews("one-more.test", at: 129))
        #expect(renewals.renews("one-more.test", at: 130))
        #expect(renewals.state.count <= TokenRenewalState.maximumHosts)
        renewals.accepts("unknown.test", since: 130)
        #expect(renewals.state.count <= TokenRenewalState.maximumHosts)
    }
}
