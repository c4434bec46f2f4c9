import Approov
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

@Suite struct SubstitutionStationTests {
    private static let secret = "canary 9f/2+é"
    private static let encoded = "canary%209f%2F2%2B%C3%A9"
    private static let apiKey = HTTPField.Name("Api-Key") ?? .accept
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func world(
        hosts: [String: HostSettings] = ["api.test": .pinned], strings: [String: String]? = ["maps-key": Self.secret],
        logger: LogRecord? = nil
    ) throws -> World {
        let world = try World(hosts: hosts, stateDirectory: folder.url, logger: logger?.logger ?? .silent)
        world.authority.script.value.secureStrings = strings
        return world
    }

    private func session(
        _ world: World, hosts: [String] = ["api.test"], headers: [String: String] = ["Api-Key": ""], query: [String] = ["key"],
        wrapping: URLSessionConfiguration = .ephemeral, change: (inout ApproovSessionConfiguration) -> Void = { _ in }
    ) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        configuration.substitutions = [try Substitution(hosts: hosts, headers: headers, queryParameters: query)]
        change(&configuration)
        return try ApproovSession(
            wrapping: URLSession(configuration: wrapping), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
    }

    private func request(_ text: String = "https://api.test/a?key=maps-key&x=1", _ key: String? = "maps-key") -> URLRequest {
        URLRequest(text, key.map { ["Api-Key": $0] } ?? [:])
    }

    /// The errors' text, as an app may log it.
    private func text(_ error: any Error) -> String {
        var text = "\(error) \(error.localizedDescription)"
        dump(error, to: &text)
        return text
    }

    /// Whether no form of the secret is in the text.
    private func isClean(_ text: String) -> Bool { !text.contains("canary 9f") && !text.contains("canary%209f") }

    // MARK: What is replaced

    @Test("A header and a query item get the value on the wire, and the app keeps seeing the placeholder")
    func replaced() async throws {
        let world = try world()
        let (_, response) = try await session(world).data(for: request())
        let sent = try #require(world.apiRequests.first)
        #expect(sent.headerFields[Self.apiKey] == Self.secret)
        #expect(sent.url.text == "https://api.test/a?key=\(Self.encoded)&x=1")
        #expect(sent.headerFields.contains(.approovToken))
        #expect(response.url?.absoluteString == "https://api.test/a?key=maps-key&x=1")
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("A text before the placeholder stays, and a value that does not begin with it is left as it is")
    func prefix() async throws {
        let world = try world(strings: ["maps-key": "abcdefgh"])
        let session = try session(world, headers: ["Authorization": "Bearer ", "Api-Key": ""])
        _ = try await session.data(for: URLRequest("https://api.test/", ["Authorization": "Bearer maps-key"]))
        #expect(world.apiRequests.last?.headerFields[.authorization] == "Bearer abcdefgh")
        for value in ["Basic maps-key", "maps-key", "Bearer", "bearer maps-key"] {
            _ = try await session.data(for: URLRequest("https://api.test/", ["Authorization": value]))
            #expect(world.apiRequests.last?.headerFields[.authorization] == value)
        }
    }

    @Test("A percent-encoded placeholder is replaced in every item with that name, and in no other")
    func query() async throws {
        let world = try world(strings: ["maps-key": "a&b=c d+", "other": "12345678"])
        _ = try await session(world).data(
            for: request("https://api.test/maps-key?k%65y=maps%2Dkey&key=other&Key=maps-key&x=maps-key&maps-key&key=&key", nil))
        #expect(
            world.apiRequests.last?.url.target
                == "/maps-key?k%65y=a%26b%3Dc%20d%2B&key=12345678&Key=maps-key&x=maps-key&maps-key&key=&key")
    }

    @Test("An unknown key is sent as it is; one of 65 characters or with a space fails the request with its place, but without showing it")
    func keys() async throws {
        let world = try world()
        let session = try session(world)
        _ = try await session.data(for: request("https://api.test/?key=unknown", "unknown"))
        #expect(world.apiRequests.last?.url.target == "/?key=unknown" && world.apiRequests.last?.headerFields[Self.apiKey] == "unknown")
        let long = String(repeating: "k", count: 65)
        for (request, place) in [
            (request("https://api.test/", long), "the header Api-Key "), (request("https://api.test/", "kkk kkk"), "the header Api-Key "),
            (request("https://api.test/?key=\(long)", nil), "the query parameter key "),
            (request("https://api.test/?key=kkk%20kkk", "maps-key"), "the query parameter key "),
        ] {
            let error = try #require(await #expect(throws: ApproovError.self) { try await session.data(for: request) })
            #expect(error.code == .substitutionFailed && error.message.hasPrefix(place) && !text(error).contains("kkk"), "\(error)")
        }
        #expect(world.apiRequests.count == 1)
    }

    @Test("Two lines of a header with a placeholder are an error")
    func twoLines() async throws {
        let world = try world()
        var request = request()
        request.allHTTPHeaderFields = ["Api-Key": "maps-key", "api-key": "x"]
        let error = try #require(await #expect(throws: ApproovError.self) { try await session(world).data(for: request) })
        #expect(error.code == .substitutionFailed && error.message.contains("twice") && isClean(text(error)))
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A value that a header may not have is an error that names the key", arguments: ["canary 9f\u{7}", " canary 9f", "canary 9f\t"])
    func badValue(_ value: String) async throws {
        let world = try world(strings: ["maps-key": value])
        let error = try #require(await #expect(throws: ApproovError.self) { try await session(world).data(for: request()) })
        #expect(error.code == .substitutionFailed && error.message.contains("maps-key") && isClean(text(error)))
        // In the query it is percent-encoded.
        _ = try await session(world).data(for: request("https://api.test/?key=maps-key", nil))
        #expect(world.apiRequests.count == 1)
    }

    @Test("A value of fewer than 8 bytes is refused with an error that names the key, because a redirect could repeat it unseen")
    func shortValue() async throws {
        let world = try world(strings: ["maps-key": "c9f+1234"])
        let session = try session(world)
        _ = try await session.data(for: request())
        world.authority.script.value.secureStrings = ["maps-key": "c9f+123"]
        world.clock.advance(by: .seconds(300))
        for request in [request("https://api.test/"), request("https://api.test/?key=maps-key", nil)] {
            let error = try #require(await #expect(throws: ApproovError.self) { try await session.data(for: request) })
            #expect(error.code == .substitutionFailed && error.message.contains("maps-key") && !text(error).contains("c9f"))
        }
        #expect(world.apiRequests.count == 1)
    }

    @Test("A line end or NUL in an answer of the authority makes it malformed", arguments: ["canary\r", "canary\n", "canary\0"])
    func lineEnd(_ value: String) async throws {
        let world = try world(strings: ["maps-key": value])
        let error = try #require(await #expect(throws: ApproovError.self) { try await session(world).data(for: request()) })
        #expect(!text(error).contains("canary"))
        #expect(world.apiRequests.isEmpty)
    }

    // MARK: Where to

    @Test("Without substitutions, for another host and for an excluded URL, placeholders are sent as they are")
    func off() async throws {
        let world = try world(hosts: ["api.test": .pinned, "other.test": .pinned])
        _ = try await world.session().data(for: request())
        _ = try await session(world).data(for: request("https://other.test/?key=maps-key"))
        _ = try await session(world) { $0.excluding = { $0.path() == "/open" } }.data(for: request("https://api.test/open?key=maps-key"))
        for sent in world.apiRequests {
            #expect(
                sent.headerFields[Self.apiKey] == "maps-key" && sent.url.target.hasSuffix("key=maps-key")
                    || sent.url.target.contains("key=maps-key&"))
        }
        #expect(world.apiRequests.count == 3)
    }

    @Test("A named host that is not protected gets nothing, and plain http is refused")
    func unprotected() async throws {
        let world = try world()
        let session = try session(world, hosts: ["api.test", "open.test"])
        let error = try #require(
            await #expect(throws: ApproovError.self) { try await session.data(for: request("https://open.test/", "maps-key")) })
        #expect(error.code == .substitutionFailed && error.message.contains("approov api -add"))
        for url in ["http://open.test/?key=maps-key", "http://api.test/?key=maps-key"] {
            await #expect(throws: ApproovError.self) { try await session.data(for: request(url)) }
        }
        // Without a placeholder the host is called as ever.
        _ = try await session.data(for: request("https://open.test/", nil))
        #expect(world.apiRequests.count == 1)
        #expect(world.authority.seen.value.attestations.isEmpty)
    }

    @Test("A protected host that gets no tokens gets the value, too")
    func withoutToken() async throws {
        let world = try world(hosts: ["api.test": .pinned, "maps.test": .pinned.with { $0.attested = false }])
        _ = try await session(world, hosts: ["maps.test"]).data(for: request("https://maps.test/?key=maps-key"))
        let sent = try #require(world.apiRequests.first)
        #expect(sent.headerFields[Self.apiKey] == Self.secret && !sent.headerFields.contains(.approovToken))
    }

    @Test("An app that is not genuine sends nothing, and the API sees no byte")
    func rejected() async throws {
        let world = try world(strings: nil)
        let error = try #require(await #expect(throws: ApproovError.self) { try await session(world).data(for: request()) })
        #expect(error.code == .rejectionError)
        #expect(world.apiRequests.isEmpty)
        // It had been genuine: the newest attestation decides.
        let other = try self.world()
        let otherSession = try session(other)
        _ = try await otherSession.data(for: request())
        other.authority.script.value.secureStrings = nil
        _ = await other.service.fetchLimitedUseToken(for: URL(string: "https://api.test/")!)
        await #expect(throws: ApproovError(.rejectionError, "")) { try await otherSession.data(for: request()) }
        #expect(other.apiRequests.count == 1)
    }

    @Test("An oblivious host gets the account's string inside the encapsulation, and never one that the app has set")
    func oblivious() async throws {
        let world = try world(hosts: ["api.test": .pinned, "private.test": .pinned.with { $0.oblivious = true }])
        let session = try session(world, hosts: ["private.test"])
        let request = request("https://private.test/a?key=maps-key")
        _ = try await session.data(for: request)
        #expect(world.relayRequests.count == 1)
        // The relay's part is clean, and the gateway opens the value.
        #expect(world.relayRequests.allSatisfy { isClean("\($0.headerFields) \($0.url)") })
        #expect(world.gateway.received.value.count == 1)
        #expect(world.gateway.received.value.allSatisfy { isClean(String(decoding: $0, as: UTF8.self)) })
        let inner = try #require(world.gateway.opened.value.first)
        #expect(inner.head.path == "/a?key=\(Self.encoded)")
        #expect(inner.head.headerFields[Self.apiKey] == Self.secret)
        try world.service.setSecureString("canary 9f own", for: "maps-key")
        let error = try #require(await #expect(throws: ApproovError.self) { try await session.data(for: request) })
        #expect(error.code == .substitutionFailed && error.message.contains("oblivious") && isClean(text(error)))
        #expect(world.relayRequests.count == 1)
    }

    @Test("Settings that contradict each other are refused")
    func contradictions() throws {
        let world = try world()
        #expect(throws: ApproovError(.initializationError, "")) { try session(world, headers: ["approov-token": ""]) }
        #expect(throws: ApproovError(.initializationError, "")) { try session(world, headers: ["Approov-TraceID": ""]) }
        #expect(throws: ApproovError(.initializationError, "")) {
            try session(world, headers: ["authorization": "Bearer "]) { $0.bindHeader = "Authorization" }
        }
        var configuration = ApproovSessionConfiguration()
        configuration.substitutions = [try Substitution(hosts: ["api.test"], headers: ["Api-Key": ""])]
        #expect(throws: ApproovError(.initializationError, "")) { try ApproovSession(service: nil, configuration: configuration) }
    }

    // MARK: Redirects

    /// Redirects `/a` to the location that the test gives, and answers all else with 200.
    private func redirecting(_ world: World, to location: @escaping @Sendable (TransportRequest) -> String) {
        world.api.value = { request in
            let isFirst = request.url.target.hasPrefix("/a") && request.url.host.name == "api.test" && request.url.port == 443
            return TransportResponse(
                status: isFirst ? 307 : 200, headerFields: isFirst ? [.location: location(request)] : [:], url: request.url)
        }
    }

    @Test("A redirect to another path of the host starts from the placeholder, and substitutes again")
    func otherPath() async throws {
        let world = try world()
        // The server repeats the query that it received.
        redirecting(world) { "/b?" + ($0.url.target.split(separator: "?").last ?? "") }
        let (_, response) = try await session(world).data(for: request())
        let sent = try #require(world.apiRequests.last)
        #expect(sent.url.target == "/b?key=\(Self.encoded)&x=1" && sent.headerFields[Self.apiKey] == Self.secret)
        #expect(response.url?.absoluteString == "https://api.test/b?key=maps-key&x=1")
    }

    @Test("A placeholder that a server chooses in a redirect to its own origin is not replaced")
    func chosenAtOrigin() async throws {
        let world = try world()
        redirecting(world) { _ in "/b?key=maps-key" }
        _ = try await session(world).data(for: request("https://api.test/a", nil))
        #expect(world.apiRequests.last?.url.target == "/b?key=maps-key" && world.apiRequests.count == 2)
    }

    @Test(
        "A redirect to another port or host carries no value, neither in the header nor in a query that repeats it",
        arguments: ["https://api.test:8443", "https://other.test", "https://open.test"])
    func otherOrigin(_ origin: String) async throws {
        let world = try world(hosts: ["api.test": .pinned, "other.test": .pinned])
        redirecting(world) { "\(origin)/b?" + ($0.url.target.split(separator: "?").last ?? "") }
        // A header that otherwise travels.
        let session = try session(world, hosts: ["api.test", "other.test"], headers: ["Api-Key": "", "User-Agent": ""])
        var request = request()
        request.setValue("maps-key", forHTTPHeaderField: "User-Agent")
        let (_, response) = try await session.data(for: request)
        let sent = try #require(world.apiRequests.last)
        #expect(world.apiRequests.count == 2 && world.apiRequests.first?.headerFields[.userAgent] == Self.secret)
        #expect(sent.headerFields[Self.apiKey] == nil && sent.headerFields[.userAgent] == nil)
        #expect(sent.url.target == "/b?key=maps-key&x=1")
        #expect(response.url?.absoluteString == "\(origin)/b?key=maps-key&x=1")
    }

    @Test("A placeholder that a server puts into a redirect to another origin is not replaced there")
    func chosenByServer() async throws {
        let world = try world(hosts: ["api.test": .pinned, "other.test": .pinned])
        redirecting(world) { _ in "https://other.test/b?key=maps-key" }
        _ = try await session(world, hosts: ["api.test", "other.test"]).data(for: request("https://api.test/a", nil))
        #expect(world.apiRequests.last?.url.target == "/b?key=maps-key")
        #expect(world.authority.seen.value.attestations.count == 2)
    }

    @Test(
        "A redirect that repeats a value in another part of its URL is refused, also one hop later",
        arguments: ["/\(encoded)", "?next=x\(encoded)", "#\(encoded)", "https://open.test/\(encoded)", "https://open.test/?\(encoded)=1"])
    func repeated(_ location: String) async throws {
        let world = try world()
        redirecting(world) { _ in location }
        let error = try #require(await #expect(throws: ApproovError.self) { try await session(world).data(for: request()) })
        #expect(error.code == .redirectRefused && isClean(text(error)))
        #expect(world.apiRequests.count == 1)
        // The first hop carries the value; the second does not, and its answer repeats it.
        world.api.value = { request in
            let next = ["/a": "https://open.test/b", "/b": location][String(request.url.target.prefix { $0 != "?" })]
            return TransportResponse(status: next == nil ? 200 : 307, headerFields: next.map { [.location: $0] } ?? [:], url: request.url)
        }
        let later = try #require(await #expect(throws: ApproovError.self) { try await session(world).data(for: request()) })
        #expect(later.code == .redirectRefused && isClean(text(later)))
        #expect(world.apiRequests.count == 3)
    }

    // MARK: Policies and interceptors

    private struct Watching: AttestationPolicy, RequestInterceptor {
        let seen = Shared<[String]>([])
        let changes = Shared<RequestChanges?>(nil)
        var decision: TokenDecision?
        var change: @Sendable (inout URLRequest) -> Void = { _ in }

        private func note(_ request: URLRequest?) {
            seen.change { $0.append("\(request?.url?.absoluteString ?? "") \(request?.allHTTPHeaderFields ?? [:])") }
        }

        func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
            note(request)
            return try await StandardPolicy().decide(result, for: request)
        }

        func decide(
            _ result: TokenFetchResult, forSecureString name: String, in request: URLRequest?
        ) async throws -> TokenDecision {
            note(request)
            seen.change { $0.append("\(result) \(result.token)") }
            if let decision { return decision }
            return try await StandardPolicy().decide(result, forSecureString: name, in: request)
        }

        func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest {
            note(request)
            self.changes.value = changes
            var request = request
            change(&request)
            return request
        }

        func adapt(_ request: URLRequest) async throws -> URLRequest {
            note(request)
            return request
        }

        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
            note(request)
            seen.change { $0.append("\(outcome)") }
            return attempt < 2 ? .retry : .doNotRetry
        }
    }

    @Test("A policy and an interceptor see placeholders alone, and the policy the names of their places")
    func placeholders() async throws {
        let world = try world()
        let watching = Watching()
        let session = try session(world) {
            $0.policy = watching
            $0.interceptors = [watching]
        }
        _ = try await session.data(for: request())
        #expect(world.apiRequests.count == 2 && world.apiRequests.allSatisfy { $0.headerFields[Self.apiKey] == Self.secret })
        #expect(watching.seen.value.count > 8 && watching.seen.value.allSatisfy(isClean))
        #expect(watching.changes.value?.substitutedHeaders == ["Api-Key"])
        #expect(watching.changes.value?.substitutedQueryParameters == ["key"])
    }

    @Test("What a policy changes about the request loses and exposes no value")
    func changed() async throws {
        let world = try world()
        var watching = Watching()
        watching.change = { request in
            // Moves the query item, copies the header, and leaves the original of both in place.
            request.url = URL(string: "https://api.test/other?y=2&key=maps-key&copy=maps-key")
            request.setValue(request.value(forHTTPHeaderField: "Api-Key"), forHTTPHeaderField: "X-Debug")
        }
        let policy = watching
        let (_, response) = try await session(world) { $0.policy = policy }.data(for: request())
        let sent = try #require(world.apiRequests.last)
        #expect(sent.url.target == "/other?y=2&key=\(Self.encoded)&copy=maps-key")
        #expect(sent.headerFields[Self.apiKey] == Self.secret)
        #expect(sent.headerFields.first { $0.name.canonicalName == "x-debug" }?.value == "maps-key")
        #expect(response.url?.absoluteString == "https://api.test/a?key=maps-key&x=1")
    }

    @Test("A policy that takes longer than the attestation lives gets no value sent")
    func lateDecision() async throws {
        let world = try world()
        var watching = Watching()
        watching.change = { _ in world.clock.advance(by: .seconds(300)) }
        let policy = watching
        let session = try session(world) { $0.policy = policy }
        let error = try #require(await #expect(throws: ApproovError.self) { try await session.data(for: request()) })
        #expect(error.code == .secureStringError && error.isRetryable)
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A policy that adds a second line, or another host, gets an error")
    func forbidden() async throws {
        let world = try world()
        for change in [
            { @Sendable (request: inout URLRequest) -> Void in request.allHTTPHeaderFields = ["Api-Key": "maps-key", "api-key": "maps-key"]
            },
            { @Sendable (request: inout URLRequest) -> Void in request.url = URL(string: "https://other.test/?key=maps-key") },
        ] {
            var watching = Watching()
            watching.change = change
            let policy = watching
            let error = try #require(
                await #expect(throws: ApproovError.self) { try await session(world) { $0.policy = policy }.data(for: request()) })
            #expect([.substitutionFailed, .interceptorError].contains(error.code) && isClean(text(error)))
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A policy may send the placeholder or the status in place of a value, or fail the request")
    func decisions() async throws {
        for (decision, sent) in [
            (TokenDecision.sendWithout(status: false), "maps-key"), (.sendWithout(status: true), "rejected"), (.fail, nil), (.attach, nil),
        ] as [(TokenDecision, String?)] {
            let world = try world(strings: nil)
            var watching = Watching()
            watching.decision = decision
            let policy = watching
            let session = try session(world) {
                $0.policy = policy
                $0.tokenHeader = TokenHeader(statusCase: .lower)
            }
            if let sent {
                _ = try await session.data(for: request())
                #expect(world.apiRequests.first?.headerFields[Self.apiKey] == sent)
                #expect(world.apiRequests.first?.url.target == "/a?key=\(sent)&x=1")
            } else {
                await #expect(throws: ApproovError.self) { try await session.data(for: request()) }
                #expect(world.apiRequests.isEmpty)
            }
        }
    }

    // MARK: Leaks

    @Test(
        "No error of the transport shows a value",
        arguments: [
            TransportError.Code.connectionFailed, .connectTimeout, .idleTimeout, .totalTimeout, .trustRefused, .hostUnresolved, .tlsFailed,
            .connectionLost, .malformedResponse, .headerTooLarge, .bodyTooLarge, .invalidHeader, .tooManyRequests, .unsupported,
        ])
    func errors(_ code: TransportError.Code) async throws {
        let record = LogRecord()
        let world = try world(logger: record)
        let reached = Shared(false)
        world.api.value = { request in
            reached.value = request.url.target.contains(Self.encoded)
            throw TransportError(code, "no")
        }
        let error = try #require(await #expect(throws: ApproovError.self) { try await session(world).data(for: request()) })
        #expect(reached.value && isClean(text(error)))
        #expect(record.lines.allSatisfy(isClean))
    }

    @Test("A request waits for an attestation no longer than its own timeout, and then sends nothing")
    func timeout() async throws {
        let world = try world(hosts: ["api.test": .pinned, "maps.test": .pinned.with { $0.attested = false }])
        let gate = Gate()
        world.authority.script.value.fault = { sent in
            if sent.url.target == "/v1/attestations" { try await gate.wait() }
            return nil
        }
        let session = try session(world, hosts: ["maps.test"])
        var request = request("https://maps.test/")
        request.timeoutInterval = 5
        let asked = request
        let waiting = Task { try await session.data(for: asked) }
        #expect(await eventually { gate.waiterCount == 1 })
        // The exchange with the authority, the fetch of the attestation, and the request itself.
        await world.clock.sleepers(atLeast: 2)
        world.clock.advance(by: .seconds(5))
        let error = try #require(await #expect(throws: ApproovError.self) { try await waiting.value })
        #expect(error.code == .networkingError && error.isRetryable)
        #expect(world.apiRequests.isEmpty)
        gate.open()
    }

    @Test("A URL that becomes too long is refused without showing it")
    func tooLong() async throws {
        let world = try world(strings: ["maps-key": String(repeating: "é", count: 2_000)])
        let query = (0..<8).map { _ in "key=maps-key" }.joined(separator: "&")
        let error = try #require(
            await #expect(throws: ApproovError.self) { try await session(world).data(for: request("https://api.test/?\(query)", nil)) })
        #expect(error.code == .substitutionFailed && !text(error).contains("é") && !text(error).contains("%C3"))
    }

    @Test("Values arrive with the newest attestation while requests are under way, and each request has the old or the new one")
    func renewal() async throws {
        let world = try world(strings: ["maps-key": "first-value"])
        let session = try session(world)
        _ = try await session.data(for: request())
        world.authority.script.value.secureStrings = ["maps-key": "second-value"]
        world.clock.advance(by: .seconds(300))
        _ = try await session.data(for: request())
        #expect(world.apiRequests.map { $0.headerFields[Self.apiKey] } == ["first-value", "second-value"])
    }
}
