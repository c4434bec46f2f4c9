import ApproovTesting
import Foundation
import HTTPClient
import OAuth2
import Testing

// Acceptance list: S2.29
@Suite struct TokenFetchObserverTests {
    /// Writes down what it hears.
    private struct Listener: TokenFetchObserver {
        let heard = Shared<[String]>([])

        func willFetch(for key: TokenKey) { heard.change { $0.append("will") } }

        func didFetch(for key: TokenKey, error: (any Error)?) {
            heard.change { $0.append(error.map { "\(($0 as? OAuth2Error)?.code as Any)" } ?? "did") }
        }
    }

    private struct Silent: TokenFetchObserver {}

    private let clock = ManualClock(date: Date(timeIntervalSince1970: 1_750_000_000))
    private let answer = Shared<(String, Int)>(("{}", 500))
    private let listener = Listener()
    private let transport: InProcessTransport

    init() {
        transport = InProcessTransport { [answer] in .json(answer.value.0, answer.value.1, to: $0) }
    }

    private func credentials(
        _ level: Authorization.Level = .user, lead: Duration = .zero, observer: (any TokenFetchObserver)? = nil
    ) throws -> OAuth2Credentials {
        try OAuth2Credentials(
            endpoints: Samples.endpoints(clock: clock, over: transport), authorization: Authorization(level: level),
            store: MemoryTokenStore(), renewalLead: lead, observer: observer ?? listener)
    }

    private static let next = (#"{"access_token":"a1","token_type":"Bearer","expires_in":600,"refresh_token":"r1"}"#, 200)

    @Test("The observer hears of each fetch once, also when requests share it, and of no request that needs none")
    func fetches() async throws {
        let credentials = try credentials()
        try await credentials.logIn(Samples.token("a0", refresh: "r0", life: 3_600, at: clock.date))
        _ = try await credentials.token()
        #expect(listener.heard.value.isEmpty)
        clock.advance(by: .seconds(3_600))
        answer.value = Self.next
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await credentials.token().accessToken } }
            for try await token in group { #expect(token == "a1") }
        }
        #expect(listener.heard.value == ["will", "did"] && transport.requests.count == 1)
    }

    @Test("The observer hears why a fetch failed, and of the app's own first token")
    func ends() async throws {
        let user = try credentials()
        try await user.logIn(Samples.token("a0", refresh: nil, life: 3_600, at: clock.date - 3_600))
        await #expect(throws: OAuth2Error.self) { try await user.token() }
        answer.value = Self.next
        _ = try await credentials(.client).token()
        let heard = listener.heard.value
        #expect(heard.count == 4 && heard[1].contains("loginRequired") && Array(heard[2...]) == ["will", "did"])
        // The default methods do nothing.
        #expect(try await credentials(.client, observer: Silent()).token().accessToken == "a1")
    }

    @Test("A token is renewed from the lead before its expiry")
    func lead() async throws {
        let credentials = try credentials(lead: .seconds(600))
        try await credentials.logIn(Samples.token("a0", refresh: "r0", life: 3_600, at: clock.date))
        clock.advance(by: .seconds(2_999))
        #expect(try await credentials.token().accessToken == "a0" && transport.requests.isEmpty)
        clock.advance(by: .seconds(1))
        // The server fails, and the token is still valid.
        #expect(try await credentials.token().accessToken == "a0" && transport.requests.count == 1)
        clock.advance(by: .seconds(5))
        answer.value = Self.next
        #expect(try await credentials.token().accessToken == "a1" && transport.requests.count == 2)
        // The new token lives 600 seconds, of which half count.
        clock.advance(by: .seconds(299))
        #expect(try await credentials.token().accessToken == "a1" && transport.requests.count == 2)
        clock.advance(by: .seconds(1))
        _ = try await credentials.token()
        #expect(transport.requests.count == 3)
    }

    @Test("A token that only a log-in can renew is used until it expires")
    func noRefreshToken() async throws {
        let credentials = try credentials(lead: .seconds(600))
        try await credentials.logIn(Samples.token("a0", refresh: nil, life: 3_600, at: clock.date - 3_100))
        #expect(try await credentials.token().accessToken == "a0")
        #expect(listener.heard.value.isEmpty)
    }

    @Test("A task that the observer makes may ask for the token that is being fetched", .timeLimit(.minutes(1)))
    func observerTask() async throws {
        final class Asking: TokenFetchObserver {
            let credentials = Shared<OAuth2Credentials?>(nil)
            let asked = Shared<Task<String, any Error>?>(nil)

            func willFetch(for key: TokenKey) {
                guard let credentials = credentials.value else { return }
                // It asks before this method returns, so during the fetch.
                asked.value = Task.immediate { try await credentials.token().accessToken }
            }
        }
        let observer = Asking()
        let credentials = try credentials(observer: observer)
        observer.credentials.value = credentials
        try await credentials.logIn(Samples.token("a0", refresh: "r0", life: 3_600, at: clock.date - 3_600))
        answer.value = Self.next
        #expect(try await credentials.token().accessToken == "a1")
        #expect(try await observer.asked.value?.value == "a1")
        observer.credentials.value = nil
    }

    @Test("When the server has ended the log-in, a token within the lead is not used any more")
    func ended() async throws {
        let credentials = try credentials(lead: .seconds(600))
        try await credentials.logIn(Samples.token("a0", refresh: "r0", life: 3_600, at: clock.date - 3_100))
        answer.value = (#"{"error":"invalid_grant"}"#, 400)
        await #expect(throws: OAuth2Error(.loginRequired, "")) { try await credentials.token() }
    }
}
