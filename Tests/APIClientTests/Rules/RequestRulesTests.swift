import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S1.2, S1.4, S1.18, S1.19, S1.20, S1.22, S3.33
@Suite(.tags(.sockets), .timeLimit(.minutes(5)))
struct RequestRulesTests {
    private func url(_ path: String) throws -> URL { try #require(URL(string: "https://api.example.com/v1" + path)) }

    @Test("All rules that match apply in their order, later ones win, and each request evaluates them")
    func order() throws {
        let token = Shared("1")
        var rules = RequestRules(base: try url(""))
        try rules.configure("**", description: "auth token") { $0.headers["X-Auth-Token"] = token.value }
        try rules.configure("/slow/*", description: "slow") {
            $0.timeout = .seconds(300)
            $0.headers["X-Auth-Token"]? += "s"
        }
        try rules.configure(description: "queries", where: { $0.query() != nil }) { $0.retries = RetryPolicy(limit: 2) }
        let fast = rules.configuration(for: try url("/fast"))
        #expect(fast.headers == ["X-Auth-Token": "1"] && fast.timeout == nil && fast.retries == nil)
        token.value = "2"
        let slow = rules.configuration(for: try url("/slow/x?y"))
        #expect(slow.headers == ["X-Auth-Token": "2s"] && slow.timeout == .seconds(300) && slow.retries?.limit == 2)
        #expect(
            rules.explain(try url("/slow/x?y"))
                == [
                    "auth token: https://api.example.com:443/v1/**", "slow: https://api.example.com:443/v1/slow/*", "queries: by a closure",
                ])
        #expect(rules.explain(try #require(URL(string: "https://api.example.com/v2/x"))) == [])
    }

    @Test("A later rule's header takes the place of an earlier one with another spelling")
    func spellings() throws {
        var rules = RequestRules(base: try url(""))
        try rules.configure("**", description: "guest") { $0.headers = ["X-Auth-Token": "guest", "X-Other": "1"] }
        try rules.configure("/me", description: "user") { $0.headers["x-auth-token"] = "user" }
        #expect(rules.configuration(for: try url("/me")).headers == ["x-auth-token": "user", "X-Other": "1"])
        #expect(rules.configuration(for: try url("/x")).headers == ["X-Auth-Token": "guest", "X-Other": "1"])
    }

    @Test("A path cannot avoid a rule by dot segments, plain or percent-encoded, nor enter one that way")
    func dots() throws {
        var rules = RequestRules(base: try url(""))
        try rules.configure("secure/**", description: "secure") { $0.headers["X"] = "1" }
        for path in [
            "/secure/x", "/public/../secure/x", "/public/%2e%2e/secure/x", "/public/.%2E/secure/x", "/./secure/x", "/%2E/secure/x",
            "/secure/a/../x",
            "/secure/", "/secure/.", "/secure/x/..",
        ] {
            #expect(rules.explain(try url(path)).count == 1, "\(path)")
        }
        for path in ["/secure/../public", "/secure/%2e%2e/public", "/secure/..", "/public/x?/../secure/x", "/../secure/x", "/secured/x"] {
            #expect(rules.explain(try url(path)).isEmpty, "\(path)")
        }
    }

    @Test("A pattern never matches another server")
    func origins() throws {
        var rules = RequestRules(base: try url(""))
        try rules.configure("**", description: "all") { _ in }
        for text in [
            "http://api.example.com/v1/x", "https://api.example.com:8443/v1/x", "https://api.example.com.evil.test/v1/x",
            "https://evil.test/v1/x",
            "https://api.example.com@evil.test/v1/x", "https://evil.test/https://api.example.com/v1/x", "file:///v1/x",
        ] {
            #expect(rules.explain(try #require(URL(string: text))).isEmpty, "\(text)")
        }
        #expect(rules.explain(try #require(URL(string: "HTTPS://API.EXAMPLE.COM./v1/x"))).count == 1)
    }

    @Test(
        "A malformed pattern is refused when the rule is made",
        arguments: [String(repeating: "a", count: 2_000), String(repeating: "*/", count: 17), "a b", "a\u{0}", "é", "a/../b", "a**", "a#b"])
    func malformed(glob: String) throws {
        var rules = RequestRules(base: try url(""))
        #expect(throws: ApproovError.self) { try rules.configure(glob, description: "x") { _ in } }
        #expect(rules.isEmpty)
    }

    @Test("A pattern that provokes backtracking is matched in the number of steps that the lengths allow")
    func backtracking() throws {
        var rules = RequestRules(base: try url(""))
        try rules.configure(String(repeating: "*a", count: 15) + "b", description: "stars") { _ in }
        try rules.configure(String(repeating: "**/a/", count: 7) + "b", description: "segments") { _ in }
        // Exponential matching would not end within the life of the machine.
        for path in ["/" + String(repeating: "a", count: 8_000), String(repeating: "/a", count: 4_000)] {
            #expect(rules.explain(try url(path)).isEmpty)
        }
    }

    /// Which headers a server saw, by path.
    private func server(_ seen: Shared<[String]>, redirect: @escaping @Sendable (String) -> String?) async throws -> TestHTTPServer {
        try await TestHTTPServer.start(certificate: nil) { request in
            let token = HTTPField.Name("X-Auth-Token").flatMap { request.headerFields[$0] } ?? "none"
            seen.change { $0.append("\(request.path) \(token)") }
            if let location = redirect(request.path) { return TestResponse(.temporaryRedirect, headerFields: [.location: location]) }
            return TestResponse(headerFields: [.contentType: "application/json"], body: Array("[]".utf8))
        }
    }

    @Test("A header of a rule stays behind when a redirect leaves the rule, on the same server and to another")
    func redirects() async throws {
        let seen = Shared<[String]>([])
        let other = try await server(seen) { _ in nil }
        let first = try await server(seen) { path in
            switch path {
            case "/v1/in/a": "/v1/in/b"
            case "/v1/in/b": "/v1/out/c"
            case "/v1/out/c": "\(other.url)/v1/in/d"
            default: nil
            }
        }
        let client = try APIClient(base: try #require(URL(string: first.url + "/v1")), session: try ApproovSession(service: nil))
            .configured { try $0.configure("in/**", description: "auth token") { $0.headers["X-Auth-Token"] = "secret" } }
        #expect(try await client.get("in/a", as: [Int].self) == [])
        #expect(seen.value == ["/v1/in/a secret", "/v1/in/b secret", "/v1/out/c none", "/v1/in/d none"])
        await first.stop()
        await other.stop()
    }

    @Test(
        "After a redirect by another server, a rule adds only headers with known names, whether an observer watches or not",
        arguments: [false, true])
    func foreignRedirects(isWatched: Bool) async throws {
        let transport = InProcessTransport { request in
            request.url.host.name == "cdn.test"
                ? TransportResponse(status: 302, headerFields: [.location: "https://api.example.com/v1/transfer"], url: request.url)
                : TransportResponse(status: 200, url: request.url)
        }
        var configuration = ApproovSessionConfiguration.over(transport)
        if isWatched { configuration.observers = [Watcher()] }
        let session = try ApproovSession(service: nil, configuration: configuration)
        let client = try APIClient(base: url(""), session: session).configured {
            try $0.configure("**", description: "user") { $0.headers = ["X-Auth-Token": "secret", "Accept-Language": "de"] }
        }
        _ = try await client.resource("transfer").send(.get)
        _ = try await client.resource(absolute: try #require(URL(string: "https://cdn.test/x"))).send(.get)
        #expect(transport.requests.map(\.url.host.name) == ["api.example.com", "cdn.test", "api.example.com"])
        let name = try #require(HTTPField.Name("X-Auth-Token"))
        #expect(transport.requests.map { $0.headerFields[name] } == ["secret", nil, nil])
        #expect(transport.requests.map { $0.headerFields[.acceptLanguage] } == ["de", nil, "de"])
    }

    private struct Passing: RequestInterceptor {}

    @Test(
        "A rule's header wins over the session's additional headers, and what the request or the client sets wins over the rule",
        arguments: [false, true])
    func additionalHeaders(passes: Bool) async throws {
        let transport = InProcessTransport { request in TransportResponse(status: 200, url: request.url) }
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.httpAdditionalHeaders = ["Accept-Language": "en", "X-Plain": "session"]
        let session = try ApproovSession(
            wrapping: URLSession(configuration: wrapped), service: nil, configuration: .over(transport)
        )
        .adding(interceptors: passes ? [Passing()] : [])
        var client = try APIClient(base: url(""), session: session).configured {
            try $0.configure("**", description: "language") { $0.headers["Accept-Language"] = "de" }
        }
        _ = try await client.resource("a").send(.get)
        _ = try await client.resource("a").send(.get, headers: ["Accept-Language": "fr"])
        client.headers = ["accept-language": "it"]
        _ = try await client.resource("a").send(.get)
        #expect(transport.requests.map { $0.headerFields[values: .acceptLanguage] } == [["de"], ["fr"], ["it"]])
        let plain = try #require(HTTPField.Name("X-Plain"))
        #expect(transport.requests.map { $0.headerFields[plain] } == ["session", "session", "session"])
    }

    @Test("A header that the request has already is not replaced, and statuses of a rule take the place of the client's")
    func precedence() async throws {
        let seen = Shared<[String]>([])
        let server = try await server(seen) { _ in nil }
        let client = try APIClient(base: try #require(URL(string: server.url)), session: try ApproovSession(service: nil))
            .configured { rules in
                try rules.configure("**", description: "auth token") { $0.headers["X-Auth-Token"] = "rule" }
                try rules.configure("odd", description: "odd status") { $0.statuses = 201..<202 }
            }
        _ = try await client.resource("a").send(.get, headers: ["x-auth-token": "own"])
        #expect(seen.value == ["/a own"])
        #expect(await failure { try await client.resource("odd").send(.get) }?.code == .unexpectedStatus)
        await server.stop()
    }

    /// An app's own interceptor.
    private struct Own: RequestInterceptor {
        let work: @Sendable (URLRequest) async throws -> URLRequest
        func adapt(_ request: URLRequest) async throws -> URLRequest { try await work(request) }
    }

    @Test("The timeout of a request wins over that of the client, that over one of a rule, and that over the session's")
    func timeouts() async throws {
        let transport = InProcessTransport { request in
            request.url.target == "/v1/slow/moved"
                ? TransportResponse(status: 307, headerFields: [.location: "/v1/fast"], url: request.url)
                : TransportResponse(status: 200, url: request.url)
        }
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.timeoutIntervalForRequest = 90
        func session(_ interceptors: [any RequestInterceptor] = []) throws -> ApproovSession {
            var configuration = ApproovSessionConfiguration.over(transport)
            configuration.interceptors = interceptors
            return try ApproovSession(wrapping: URLSession(configuration: wrapped), service: nil, configuration: configuration)
        }
        let plain = try APIClient(base: url(""), session: session())
        let client = try plain.configured { rules in
            try rules.configure("slow/**", description: "slow") { $0.timeout = .seconds(300) }
            try rules.configure("slow/short", description: "short") { $0.timeout = .seconds(5) }
        }
        /// The idle timeouts and the timeouts to connect, in seconds, of the requests that work sends.
        func seconds(_ work: () async throws -> Void) async throws -> [[Double]] {
            let count = transport.requests.count
            try await work()
            return transport.requests.dropFirst(count).map { request in
                [request.options.idleTimeout, request.options.connectTimeout].map { ($0 / .seconds(1) * 1_000).rounded() / 1_000 }
            }
        }
        func seconds(_ client: APIClient, _ path: String) async throws -> [[Double]] {
            try await seconds { _ = try await client.resource(path).send(.get) }
        }
        #expect(try await seconds(plain, "slow/x") == [[90, 30]])
        #expect(try await seconds(client, "fast") == [[90, 30]])
        #expect(try await seconds(client, "slow/x") == [[300, 30]])
        #expect(try await seconds(client, "slow/short") == [[5, 5]])
        // A redirect that leaves a rule leaves its timeout.
        #expect(try await seconds(client, "slow/moved") == [[300, 30], [90, 30]])
        // 60 s is what `URLRequest` has by default, and counts like any other time.
        for own in [20.0, 60, 400] {
            var copy = client
            copy.timeout = .seconds(own)
            for path in ["fast", "slow/x", "slow/short"] { #expect(try await seconds(copy, path) == [[own, min(own, 30)]], "\(own) s") }
        }
        // The copies changed nothing.
        #expect(try await seconds(client, "fast") == [[90, 30]])
        let minute = try plain.configured { try $0.configure("**", description: "minute") { $0.timeout = .seconds(60) } }
        #expect(try await seconds(minute, "fast") == [[60, 30]])
        let inner = try APIClient(base: url(""), session: session([Own { [rules = minute.rules] in try await rules.adapt($0) }]))
        #expect(try await seconds(inner, "fast") == [[60, 30]])
        let ruled = try session([client.rules])
        for own in [7.0, 60] {
            var builder = RequestBuilder(url: try url("/slow/x"))
            builder.timeout = .seconds(own)
            let request = try builder.build().request
            #expect(try await seconds { _ = try await ruled.data(for: request) } == [[own, min(own, 30)]], "\(own) s")
        }
    }

    @Test("The policy of a rule decides about retries of the URLs that it matches, and a rule's validators judge them")
    func retriesAndValidators() async throws {
        var rules = RequestRules(base: try url(""))
        try rules.configure("**", description: "retries") {
            $0.retries = RetryPolicy(limit: 2)
            $0.validators = [.status(201..<202)]
        }
        let (inside, outside) = (try url("/x"), try #require(URL(string: "https://other.test/")))
        let failed = RequestOutcome.failure(ApproovError(.networkingError, "no answer"))
        guard case .retryAfter = await rules.retry(URLRequest(url: inside), after: failed, attempt: 2) else {
            Issue.record("the second attempt was not repeated")
            return
        }
        #expect(await rules.retry(URLRequest(url: inside), after: failed, attempt: 3) == .doNotRetry)
        #expect(await rules.retry(URLRequest(url: outside), after: failed, attempt: 1) == .doNotRetry)
        func head(_ url: URL) throws -> HTTPURLResponse {
            try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
        }
        #expect(code(as: ApproovError.self) { try rules.validate(try head(inside), body: nil) } == .responseRefused)
        try rules.validate(try head(outside), body: nil)
    }

    /// Sees values of headers.
    private struct Watcher: SessionObserver {
        let shownHeaders: Set<String> = ["X-User", "X-Client", "Accept-Language", "X-Plain"]
        let seen = Shared<[[String: String]]>([])
        func willSend(_ request: RequestSummary) { seen.change { $0.append(request.shownHeaders) } }
        func didReceive(_ response: ResponseSummary) { seen.change { $0.append(response.shownHeaders) } }
    }

    @Test("Observers see no value of a header with an unknown name that a rule or the client adds, also when the rule changes meanwhile")
    func secrets() async throws {
        let user = Shared<String?>("hidden-user")
        let transport = InProcessTransport { request in
            user.value = nil
            return TransportResponse(status: 200, headerFields: request.headerFields, url: request.url)
        }
        let watcher = Watcher()
        var configuration = ApproovSessionConfiguration()
        configuration.transport = transport
        configuration.observers = [watcher]
        let session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: nil, configuration: configuration)
        var client = try APIClient(base: url(""), session: session).configured {
            try $0.configure("**", description: "user") { settings in
                settings.headers["X-User"] = user.value
                settings.headers["Accept-Language"] = "de"
            }
        }
        client.headers = ["X-Client": "hidden-client"]
        _ = try await client.resource("a").send(.get, headers: ["X-Plain": "plain"])
        #expect(transport.requests.first?.headerFields[try #require(HTTPField.Name("X-User"))] == "hidden-user")
        #expect(await eventually { watcher.seen.value.count == 2 })
        #expect(watcher.seen.value == [["accept-language": "de", "x-plain": "plain"], ["accept-language": "de", "x-plain": "plain"]])
    }
}
