import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTypes

/// The steps with users, who log in at the authorization server.
extension DemoSteps {
    /// A hundred requests with an expired user token share one refresh, and each gets its answer.
    func tokenRefresh() async throws -> String {
        let (users, record) = (world.users, world.users.api.record)
        // Lets the authorization server answer even when fewer requests come.
        defer { record.crowdIsRefused.open() }
        let client = try loginClient()
        let credentials = UserCredentials("alice", try await client.logIn("alice"), client: client)
        users.tokens.expireAccessTokens()
        var settings = ApproovSessionConfiguration()
        settings.bindHeader = ShapesAPI.bindingHeader
        settings.interceptors = [try AuthenticatedRequests(source: credentials, hosts: [HostPattern(DemoWorld.apiHost)])]
        let session = try app.makeSession(settings)
        let url = world.url(AccountAPI.account, port: users.api.server.port)
        let statuses = try await withThrowingTaskGroup(of: Int.self, returning: [Int].self) { group in
            for _ in 0..<AccountAPI.crowd { group.addTask { try await status(of: url, in: session) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let answered = statuses.count { $0 == 200 }
        try expect(answered == AccountAPI.crowd, "the API answered 200 to \(answered) of \(AccountAPI.crowd) requests")
        let refused = record.refusals.value
        try expect(refused == AccountAPI.crowd, "the API refused the expired token \(refused) times")
        let refreshes = users.tokens.refreshCount
        try expect(refreshes == 1, "the authorization server saw \(refreshes) refreshes")
        return "\(refused) answers 401 to the expired token, then \(answered) answers 200; the authorization server saw 1 refresh"
    }

    /// When Alice logs out and Bob logs in, Alice's request in flight is cancelled, and Bob's has nothing of hers.
    func logOut() async throws -> String {
        let record = world.users.api.record
        defer { record.exportMayEnd.open() }
        let client = try loginClient()
        let holder = try CredentialHolder()
        var settings = ApproovSessionConfiguration()
        settings.bindHeader = ShapesAPI.bindingHeader
        settings.credential = .header(ShapesAPI.bindingHeader, holder, for: [try HostPattern(DemoWorld.apiHost)])
        let wrapped = URLSessionConfiguration.ephemeral
        let storage = wrapped.httpCookieStorage
        let session = try app.makeSession(settings, wrapping: wrapped)
        let url = world.url(AccountAPI.account, port: world.users.api.server.port)

        let alice = try await client.logIn("alice").accessToken
        try holder.update("Bearer \(alice)")
        let first = try await app.get(url, in: session)
        try expect(first.status == 200 && first.text == "alice", "the API answered \(first.status) \"\(first.text)\" to Alice")
        async let export = exportOutcome(in: session)
        try await record.exportBegan.wait()
        // The control: while Alice is logged in, the app keeps her cookie and sends it.
        try expect(storage?.cookies?.count == 1, "the app did not keep Alice's cookie")
        try expect(record.served.value.last?[.cookie] == "user=alice", "the API did not get Alice's export with her cookie")

        try holder.update(nil)
        try expect(storage?.cookies?.isEmpty != false, "cookies are left after Alice's logout")
        let outcome = await export
        guard case .failure(let error) = outcome, error is CancellationError else {
            throw DemoFailure("Alice's export did not end with CancellationError: \(outcome)")
        }
        record.exportMayEnd.open()

        let bob = try await client.logIn("bob").accessToken
        try holder.update("Bearer \(bob)")
        let second = try await app.get(url, in: session)
        try expect(second.status == 200 && second.text == "bob", "the API answered \(second.status) \"\(second.text)\" to Bob")
        let fields = record.served.value.last ?? [:]
        try expect(fields[.authorization] == "Bearer \(bob)", "the API did not get Bob's own token")
        try expect(fields[.cookie] == nil, "Bob's request had a cookie")
        try expect(!fields.contains { $0.value.contains(alice) }, "Bob's request had Alice's token")
        return "Alice's export ended with CancellationError; then 200 \"\(second.text)\" to Bob, who sent no cookie and no token of hers"
    }

    private func loginClient() throws -> LoginClient {
        let url = world.url(LoginServer.token, port: world.users.login.port, host: UsersWorld.loginHost)
        return LoginClient(session: try app.makeSession(ApproovSessionConfiguration()), url: try app.parsed(url))
    }

    private func status(of url: String, in session: ApproovSession) async throws -> Int { try await app.get(url, in: session).status }

    /// Starts Alice's slow request, and says how it ends.
    private func exportOutcome(in session: ApproovSession) async -> Result<DemoApp.Answer, any Error> {
        // Also when the request fails before the server gets it: the step must not wait without end.
        defer { world.users.api.record.exportBegan.open() }
        do {
            return .success(try await app.get(world.url(AccountAPI.export, port: world.users.api.server.port), in: session))
        } catch {
            return .failure(error)
        }
    }
}

extension DemoApp {
    /// Makes a call in another session, which adds the user's token itself.
    fileprivate func get(_ url: String, in session: ApproovSession) async throws -> Answer {
        let (data, response) = try await session.data(for: URLRequest(url: try parsed(url)))
        return Answer(status: response.statusCode, text: String(decoding: data, as: UTF8.self))
    }
}
