import ApproovBase
import ApproovTesting
import Foundation
import TestTags
import Testing

@testable import OAuth2

// Acceptance list: S2.100, S2.101
@Suite(.tags(.sockets)) struct LoopbackRedirectTests {
    /// A listener that waits, with the request that it waits for.
    private struct Waiting {
        let redirect: LoopbackRedirect
        let request: AuthorizationRequest
        let task: Task<AuthorizationCodeGrant, any Error>
        let clock = ManualClock()
        let port: Int

        init(limits: LoopbackLimits = LoopbackLimits(), time: (any TimeSource)? = nil, issuer: String? = nil) throws {
            let redirect = try LoopbackRedirect(path: "/callback", clock: time ?? clock, limits: limits)
            let request = try AuthorizationRequest(
                client: Samples.client(server: Samples.server(issuer: issuer)), redirectURI: redirect.redirectURI)
            self.redirect = redirect
            self.request = request
            port = try #require(redirect.redirectURI.port)
            task = Task { try await redirect.grant(for: request) }
        }

        /// Sends a request as a browser would, and returns the status of the answer, or "" if there is none.
        func get(_ target: String, host: String? = nil, method: String = "GET", more: String = "") async throws -> String {
            let client = try RawClient(port: port)
            client.write("\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n\(more)\r\n")
            return String(await client.readToEnd().text.dropFirst("HTTP/1.1 ".count).prefix(3))
        }

        var good: String { "/callback?code=c1&state=\(request.state)" }
    }

    @Test("The redirect of the request is accepted, and the listener then closes")
    func accepted() async throws {
        let waiting = try Waiting()
        #expect(waiting.redirect.redirectURI.absoluteString == "http://127.0.0.1:\(waiting.port)/callback")
        try #require(try await waiting.get(waiting.good) == "200")
        let parameters = try await waiting.task.value.parameters()
        #expect(parameters.contains { $0 == ("code", "c1") })
        #expect(await eventually { (try? RawClient(port: waiting.port)) == nil })
        #expect(await codeThrown(as: OAuth2Error.self) { try await waiting.redirect.grant(for: waiting.request) } == .configurationError)
    }

    @Test("The page does not claim a log-in that the app has yet to complete")
    func page() async throws {
        let waiting = try Waiting()
        let client = try RawClient(port: waiting.port)
        client.write("GET \(waiting.good) HTTP/1.1\r\nHost: 127.0.0.1:\(waiting.port)\r\n\r\n")
        let text = await client.readToEnd().text
        #expect(text.contains("The app has received the answer.") && !text.contains("logged in"))
        _ = try await waiting.task.value
    }

    @Test("Requests of other pages and programs get an error, and the user's redirect is accepted after them")
    func foreign() async throws {
        let waiting = try Waiting()
        let good = waiting.good
        #expect(try await waiting.get("/callback?code=evil&state=guess") == "400")
        #expect(try await waiting.get("/callback?code=evil") == "400")
        #expect(try await waiting.get("/callback?code=evil&code=evil&state=guess") == "400")
        #expect(try await waiting.get(good + "&state=guess") == "400")
        #expect(try await waiting.get("/callback") == "404")
        #expect(try await waiting.get("/favicon.ico") == "404")
        #expect(try await waiting.get("/callback/?code=c&state=\(waiting.request.state)") == "404")
        #expect(try await waiting.get("http://127.0.0.1/callback?code=c") == "404")
        #expect(try await waiting.get(good, host: "evil.test") == "421")
        #expect(try await waiting.get(good, host: "localhost:\(waiting.port)") == "421")
        #expect(try await waiting.get(good, host: "127.0.0.1") == "421")
        #expect(try await waiting.get(good, more: "Host: evil.test\r\n") == "421")
        #expect(try await waiting.get(good, method: "POST") == "405")
        #expect(try await waiting.get(good, method: "HEAD") == "405")
        #expect(try await waiting.get("/callback?code=c 1") == "400")
        #expect(try await waiting.get(good, more: "X: a\nb\r\n") == "400")
        #expect(try await waiting.get(good, more: "X: \(String(repeating: "x", count: 8_300))\r\n") == "431")
        #expect(!waiting.task.isCancelled)
        try #require(try await waiting.get(good) == "200")
        _ = try await waiting.task.value
    }

    @Test("Silent and slow connections do not keep the user's redirect away, and are closed")
    func silent() async throws {
        let waiting = try Waiting(
            limits: LoopbackLimits(connectionTimeout: .milliseconds(50), maximumConnections: 2), time: SystemTimeSource())
        let silent = try (0..<5).map { _ in try RawClient(port: waiting.port) }
        for client in silent { client.write("GET /call") }
        for client in silent { #expect(await client.readToEnd().isClosed) }
        try #require(try await waiting.get(waiting.good) == "200")
        _ = try await waiting.task.value
    }

    @Test("When the system accepts no connection, the listener pauses before it tries again, and serves the open ones meanwhile")
    func noDescriptors() async throws {
        let calls = Shared(0)
        var limits = LoopbackLimits()
        limits.accept = { descriptor in
            let isThird = calls.change { calls in
                calls += 1
                return calls == 3
            }
            guard !isThird else {
                errno = EMFILE
                return -1
            }
            return accept(descriptor, nil, nil)
        }
        let waiting = try Waiting(limits: limits)
        let open = try [RawClient(port: waiting.port), RawClient(port: waiting.port)]
        try #require(await eventually { calls.value == 2 })
        let late = try RawClient(port: waiting.port)
        late.write("GET \(waiting.good) HTTP/1.1\r\nHost: 127.0.0.1:\(waiting.port)\r\n\r\n")
        try #require(await eventually { calls.value >= 3 })
        for client in open {
            client.write("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(waiting.port)\r\n\r\n")
            #expect(await client.readToEnd().text.hasPrefix("HTTP/1.1 404"))
        }
        #expect(calls.value == 3)
        waiting.clock.advance(by: .milliseconds(100))
        #expect(await late.readToEnd().text.hasPrefix("HTTP/1.1 200"))
        _ = try await waiting.task.value
    }

    @Test("A redirect that arrives in single bytes is accepted")
    func bytes() async throws {
        let waiting = try Waiting()
        let client = try RawClient(port: waiting.port)
        for byte in "GET \(waiting.good) HTTP/1.1\r\nHost: 127.0.0.1:\(waiting.port)\r\n\r\n".utf8 { client.write([byte]) }
        try #require(await client.readToEnd().text.hasPrefix("HTTP/1.1 200"))
        _ = try await waiting.task.value
    }

    @Test("The server's refusal ends the wait")
    func refusal() async throws {
        let waiting = try Waiting()
        try #require(try await waiting.get("/callback?error=access_denied&state=\(waiting.request.state)") == "200")
        #expect(await codeThrown(as: OAuth2Error.self) { try await waiting.task.value } == .authorizationRefused)
    }

    @Test(
        "An answer that has the state but cannot be used ends the wait with the reason",
        arguments: [
            ("code=c1&iss=https%3A%2F%2Fevil.test", "another issuer"), ("error=%22", "its error is malformed"), ("x=1", "code is missing"),
            ("code=c1&code=c2", "occurs twice"),
        ])
    func unusable(answer: String, reason: String) async throws {
        let waiting = try Waiting(issuer: "https://login.test")
        try #require(try await waiting.get("/callback?\(answer)&state=\(waiting.request.state)") == "200")
        let error = await #expect(throws: OAuth2Error(.redirectRefused, "")) { try await waiting.task.value }
        #expect(error?.message.contains(reason) == true)
    }

    @Test("When the time is over, or the task is cancelled, the wait ends and the port is free")
    func ends() async throws {
        let late = try Waiting()
        await late.clock.sleepers(atLeast: 1)
        late.clock.advance(by: .seconds(300))
        #expect(await codeThrown(as: OAuth2Error.self) { try await late.task.value } == .timedOut)
        let cancelled = try Waiting()
        cancelled.task.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.task.value }
        #expect(await eventually { (try? RawClient(port: cancelled.port)) == nil && (try? RawClient(port: late.port)) == nil })
    }

    @Test(
        "Paths that cannot be a redirect's are refused",
        arguments: ["", "callback", "/a?b", "/a#b", "/a%2Fb", "/ä", "/a b", "/a/../cb", "/./cb", "/..", "/a{b}", "/a|b", "/a^b"])
    func paths(path: String) {
        #expect(code(as: OAuth2Error.self) { try LoopbackRedirect(path: path) } == .configurationError)
    }
}
