import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct AttestationPolicyTests {
    /// A policy of closures, each with the default of the protocol where the test sets none.
    struct Scripted: AttestationPolicy {
        var shouldAttest: (@Sendable (URLRequest) async throws -> Bool)?
        var decide: (@Sendable (TokenFetchResult, URLRequest) async throws -> TokenDecision)?
        var didPrepare: (@Sendable (URLRequest, RequestChanges) async throws -> URLRequest)?

        func shouldAttest(_ request: URLRequest) async throws -> Bool {
            if let shouldAttest { return try await shouldAttest(request) }
            return try await StandardPolicy().shouldAttest(request)
        }

        func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
            if let decide { return try await decide(result, request) }
            return try await StandardPolicy().decide(result, for: request)
        }

        func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest {
            if let didPrepare { return try await didPrepare(request, changes) }
            return request
        }
    }

    private struct Refused: Error {}

    private let request = URLRequest("https://api.test/shapes?a=1", ["Authorization": "Bearer abc", "Approov-Token": "forged"])

    private func session(
        _ world: World, _ policy: any AttestationPolicy, change: (inout ApproovSessionConfiguration) -> Void = { _ in }
    ) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        configuration.bindHeader = "Authorization"
        configuration.policy = policy
        change(&configuration)
        return try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent),
            configuration: configuration)
    }

    /// A world whose authority cannot be reached.
    private func worldWithoutNetwork(_ code: TransportError.Code = .connectionFailed) throws -> World {
        let world = try World()
        world.authority.script.value.fault = { _ in throw TransportError(code, "no") }
        return world
    }

    @Test("A policy may wait for a barrier of the gate, which does not wait for the policy's own request", .timeLimit(.minutes(1)))
    func barrier() async throws {
        let world = try World()
        let gate = RequestGate(clock: world.clock)
        let barriers = Shared<[String]>([])
        let wait: @Sendable (String) async throws -> Void = { name in try await gate.barrier { barriers.change { $0.append(name) } } }
        let policy = Scripted(
            shouldAttest: { _ in
                try await wait("shouldAttest")
                return true
            },
            decide: { result, request in
                try await wait("decide")
                return try await StandardPolicy().decide(result, for: request)
            },
            didPrepare: { request, _ in
                try await wait("didPrepare")
                return request
            })
        let session = try session(world, policy) { $0.gate = gate }
        let (_, head) = try await session.data(for: request)
        #expect(head.statusCode == 200)
        #expect(barriers.value == ["shouldAttest", "decide", "didPrepare"])
        #expect(gate.outgoingCount == 0 && world.apiRequests.count == 1)
    }

    // MARK: Decisions

    @Test("A policy without functions decides about every status like a session without a policy", arguments: TokenFetchStatus.allCases)
    func standard(_ status: TokenFetchStatus) async throws {
        struct Empty: AttestationPolicy {}
        let result = TokenFetchResult(status: status)
        let request = request
        let attached: Set<TokenFetchStatus> = [.success]
        let without: Set<TokenFetchStatus> = [.unknownURL, .unprotectedURL]
        let retryable: Set<TokenFetchStatus> = [.noNetwork, .poorNetwork, .noApproovService]
        let strict: TokenDecision = attached.contains(status) ? .attach : without.contains(status) ? .sendWithout(status: false) : .fail
        let lenient: TokenDecision = retryable.contains(status) ? .sendWithout(status: false) : strict
        #expect(try await Empty().decide(result, for: request) == strict)
        #expect(try await StandardPolicy().decide(result, for: request) == strict)
        #expect(try await StandardPolicy(sendsWithoutTokenWhenAuthorityIsDown: true).decide(result, for: request) == lenient)
        let value: TokenDecision = status == .success ? .attach : .fail
        #expect(try await Empty().decide(result, forCustomTokenTo: "a.test") == value)
        #expect(try await Empty().decide(result, forPrecheckOf: "api.test") == value)
        let secret: TokenDecision = status == .unknownKey ? .sendWithout(status: false) : value
        #expect(try await Empty().decide(result, forSecureString: "key", in: request) == secret)
        #expect(try await Empty().decide(result, forSecureString: "key", in: nil) == secret)
        #expect(try await Empty().shouldAttest(request))
        #expect(try await Empty().didPrepare(request, changes: RequestChanges()) == request)
    }

    @Test("The error for every status without a token says whether another attempt may help", arguments: TokenFetchStatus.allCases)
    func refusals(_ status: TokenFetchStatus) {
        let result = TokenFetchResult(status: status, arc: status == .rejected ? "ARC" : "", rejectionReasons: ["debugger"])
        let code: ApproovError.Code =
            switch status {
            case .noNetwork, .poorNetwork, .noApproovService, .mitmDetected: .networkingError
            case .rejected: .rejectionError
            default: .permanentError
            }
        #expect(result.refusal.code == code)
        #expect(result.refusal.arc == (status == .rejected ? "ARC" : nil))
    }

    @Test("A policy that attaches a missing token causes an error, and after mitmDetected no request goes without a token")
    func impossibleDecisions() throws {
        for status in TokenFetchStatus.allCases {
            let result = TokenFetchResult(status: status)
            #expect(throws: ApproovError(.interceptorError, "")) { try TokenDecision.attach.sendsWithout(result) }
            #expect(throws: result.refusal) { try TokenDecision.fail.sendsWithout(result) }
            for isSent in [false, true] where status != .mitmDetected {
                #expect(try TokenDecision.sendWithout(status: isSent).sendsWithout(result) == isSent)
            }
        }
        let untrusted = TokenFetchResult(status: .mitmDetected)
        for isSent in [false, true] {
            #expect(throws: ApproovError(.networkingError, "")) { try TokenDecision.sendWithout(status: isSent).sendsWithout(untrusted) }
        }
        #expect(try TokenDecision.attach.sendsWithout(TokenFetchResult(status: .success, token: "a.b.c")) == nil)
    }

    @Test("A policy sees every result with the request as it is sent, without the token")
    func seen() async throws {
        let seen = Shared<[(TokenFetchStatus, URLRequest)]>([])
        let world = try World()
        let policy = Scripted(decide: { result, request in
            seen.change { $0.append((result.status, request)) }
            return .attach
        })
        let session = try session(world, policy)
        for _ in 0..<2 { _ = try await session.data(for: request) }
        #expect(seen.value.map(\.0) == [.success, .success])
        let headers = try #require(seen.value.first?.1.allHTTPHeaderFields)
        #expect(headers == ["Authorization": "Bearer abc", "Accept": "*/*"])
        #expect(world.apiRequests.allSatisfy { $0.headerFields[.approovToken]?.hasPrefix("ey") == true })
    }

    @Test("Without a network the policy decides: to fail, to send without a token, or with the status in its place")
    func withoutNetwork() async throws {
        for (decision, sent) in [
            (TokenDecision.sendWithout(status: false), nil), (.sendWithout(status: true), "Bearer no_network"), (.fail, nil),
        ] as [(TokenDecision, String?)] {
            let world = try worldWithoutNetwork()
            let session = try session(world, Scripted(decide: { _, _ in decision })) {
                $0.tokenHeader = TokenHeader(prefix: "Bearer ", statusCase: .lower)
            }
            if decision == .fail {
                await #expect(throws: ApproovError(.networkingError, "")) { try await session.data(for: request) }
                #expect(world.apiRequests.isEmpty)
            } else {
                _ = try await session.data(for: request)
                #expect(world.apiRequests.first?.headerFields[values: .approovToken] == (sent.map { [$0] } ?? []))
                #expect(world.apiRequests.first?.headerFields[.approovTraceID] == nil)
            }
        }
    }

    @Test("A server in the authority's place never takes the token off a request, whatever the policy says")
    func untrustedAuthority() async throws {
        let world = try worldWithoutNetwork(.trustRefused)
        for decision in [TokenDecision.sendWithout(status: false), .sendWithout(status: true), .fail] {
            let session = try session(world, Scripted(decide: { _, _ in decision }))
            await #expect(throws: ApproovError(.networkingError, "")) { try await session.data(for: request) }
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A policy may attach the token of an app that was rejected, and refuse one that was not")
    func rejected() async throws {
        let world = try World()
        world.authority.script.value.rejectionReasons = ["debugger"]
        _ = try await session(world, Scripted(decide: { _, _ in .attach })).data(for: request)
        #expect(world.apiRequests.first?.headerFields[.approovToken]?.hasPrefix("ey") == true)
        let good = try World()
        let session = try session(good, Scripted(decide: { _, _ in .fail }))
        await #expect(throws: ApproovError(.permanentError, "")) { try await session.data(for: request) }
        #expect(good.apiRequests.isEmpty)
    }

    @Test("A policy's errors reach the caller: its own as they are, others as the cause of an error that names the policy")
    func errors() async throws {
        let world = try World()
        for policy in [
            Scripted(shouldAttest: { _ in throw Refused() }), Scripted(decide: { _, _ in throw Refused() }),
            Scripted(didPrepare: { _, _ in throw Refused() }),
        ] {
            let error = try await #require(throws: ApproovError.self) { try await session(world, policy).data(for: request) }
            #expect(error.code == .interceptorError && error.cause is Refused && error.message.contains("Scripted"))
        }
        let own = ApproovError(.unsupported, "not today")
        await #expect(throws: own) { try await session(world, Scripted(decide: { _, _ in throw own })).data(for: request) }
        await #expect(throws: CancellationError.self) {
            try await session(world, Scripted(shouldAttest: { _ in throw CancellationError() })).data(for: request)
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A policy and the setting that it replaces are refused together")
    func contradiction() throws {
        let world = try World()
        #expect(throws: ApproovError(.initializationError, "")) {
            try session(world, StandardPolicy()) { $0.sendsWithoutTokenWhenAuthorityIsDown = true }
        }
    }

    // MARK: Which requests

    @Test("A request that the policy does not attest goes without a token, and the host stays pinned")
    func unattested() async throws {
        let world = try World()
        let session = try session(world, Scripted(shouldAttest: { $0.url?.path() != "/shapes" }))
        _ = try await session.data(for: URLRequest("https://api.test/shapes"))
        #expect(world.apiRequests.first?.headerFields[.approovToken] == nil)
        #expect(world.authority.seen.value.attestations.isEmpty)
        await #expect(throws: ApproovError(.pinningError, "")) { try await session.data(for: URLRequest("http://api.test/shapes")) }
    }

    @Test("URLs that a pattern excludes get no token and no binding, and the policy is not asked")
    func excluded() async throws {
        let world = try World()
        let asked = Shared(0)
        let policy = Scripted(shouldAttest: { _ in
            asked.change { $0 += 1 }
            return true
        })
        let globs = [try URLGlob("https://api.test/health"), try URLGlob("https://api.test/public/**")]
        let session = try session(world, policy) { $0.excludedURLs = globs }
        for path in ["/health?x=1", "/public/a/b"] {
            _ = try await session.data(for: URLRequest("https://api.test\(path)"))
            #expect(world.apiRequests.last?.headerFields[.approovToken] == nil)
        }
        #expect(asked.value == 0)
        for path in ["/healthy", "/public/%2e%2e/shapes"] {
            await #expect(throws: ApproovError(.bindingMissing, "")) { try await session.data(for: URLRequest("https://api.test\(path)")) }
        }
        #expect(asked.value == 2)
    }

    // MARK: The prepared request

    @Test("The prepared request has its token, and the names of what was added")
    func prepared() async throws {
        let seen = Shared<(URLRequest, RequestChanges)?>(nil)
        let world = try World()
        let policy = Scripted(didPrepare: { request, changes in
            seen.value = (request, changes)
            var request = request
            request.setValue("1", forHTTPHeaderField: "X-Policy")
            request.url = URL(string: "https://api.test/other?b=2")
            request.httpMethod = "POST"
            request.httpBody = Data("body".utf8)
            return request
        })
        let (_, response) = try await session(world, policy).data(for: request)
        #expect(response.url == request.url)
        let (shown, changes) = try #require(seen.value)
        #expect(shown.value(forHTTPHeaderField: "Approov-Token")?.hasPrefix("ey") == true)
        #expect(changes == RequestChanges(tokenHeader: "Approov-Token", traceIDHeader: "Approov-TraceID"))
        let sent = try #require(world.apiRequests.first)
        #expect(sent.url.text == "https://api.test/other?b=2" && sent.method == .post)
        guard case .bytes(let body) = sent.body else { throw Refused() }
        #expect(body == Array("body".utf8))
        #expect(sent.headerFields.contains { $0.name.canonicalName == "x-policy" && $0.value == "1" })
        #expect(sent.headerFields[.authorization] == "Bearer abc")
    }

    @Test("A request that the policy leaves alone is sent as without a policy")
    func unchanged() async throws {
        let (with, without) = (try World(), try World())
        _ = try await session(with, Scripted(didPrepare: { request, _ in request })).data(for: request)
        _ = try await without.session(bindHeader: "Authorization").data(for: request)
        let names = [with, without].map { $0.apiRequests.first?.headerFields.map(\.name.rawName).sorted() }
        #expect(names[0] == names[1])
    }

    @Test(
        "A policy must not change where the request goes, its token, or what that is bound to",
        arguments: [
            "scheme", "host", "port", "no URL", "token", "no token", "second token", "trace ID", "binding", "no binding",
        ])
    func forbidden(_ change: String) async throws {
        let world = try World()
        let policy = Scripted(didPrepare: { request, _ in
            var request = request
            switch change {
            case "scheme": request.url = URL(string: "http://api.test/")
            case "host": request.url = URL(string: "https://else.test/")
            case "port": request.url = URL(string: "https://api.test:8443/")
            case "no URL": request.url = nil
            case "token": request.setValue("forged", forHTTPHeaderField: "Approov-Token")
            case "no token": request.setValue(nil, forHTTPHeaderField: "Approov-Token")
            case "second token": request.allHTTPHeaderFields?["approov-token"] = "forged"
            case "trace ID": request.setValue("forged", forHTTPHeaderField: "Approov-TraceID")
            case "binding": request.setValue("Bearer mallory", forHTTPHeaderField: "Authorization")
            default: request.setValue(nil, forHTTPHeaderField: "Authorization")
            }
            return request
        })
        let error = try await #require(throws: ApproovError.self) { try await session(world, policy).data(for: request) }
        #expect(error.code == (change == "no URL" ? .badRequest : .interceptorError))
        #expect(!"\(error)".contains("forged") && !"\(error)".contains("mallory"))
        #expect(world.apiRequests.isEmpty)
    }

    @Test("Every redirect and every host is shown to the policy, but no request without attestation")
    func redirects() async throws {
        let seen = Shared<[String]>([])
        let world = try World(hosts: ["api.test": .pinned, "open.test": .pinned.with { $0.attested = false }])
        world.api.value = { request in
            let next = ["/one": "/two", "/two": "https://open.test/three", "/three": "https://else.test/four"][request.url.target]
            return TransportResponse(
                status: next == nil ? 200 : 302, headerFields: next.map { [.location: $0] } ?? [:], url: request.url)
        }
        let policy = Scripted(didPrepare: { request, changes in
            seen.change { $0.append("\(request.url?.path() ?? "") \(changes.tokenHeader ?? "none")") }
            return request
        })
        _ = try await session(world, policy).data(for: URLRequest("https://api.test/one", ["Authorization": "Bearer abc"]))
        #expect(seen.value == ["/one Approov-Token", "/two Approov-Token"])
        #expect(world.apiRequests.count == 4)
    }

    @Test("An interceptor outside of a session asks the policy, too")
    func interceptor() async throws {
        let world = try World()
        var configuration = ApproovSessionConfiguration()
        configuration.policy = Scripted(
            shouldAttest: { $0.url?.path() != "/open" },
            didPrepare: { request, changes in
                #expect(changes.tokenHeader == "Approov-Token")
                var request = request
                request.setValue("1", forHTTPHeaderField: "X-Policy")
                return request
            })
        let interceptor = try ApproovInterceptor(service: world.service, configuration: configuration)
        let adapted = try await interceptor.adapt(request)
        #expect(adapted.value(forHTTPHeaderField: "X-Policy") == "1")
        #expect(adapted.value(forHTTPHeaderField: "Approov-Token")?.hasPrefix("ey") == true)
        #expect(try await interceptor.adapt(URLRequest("https://api.test/open")) == URLRequest("https://api.test/open"))
    }

    // MARK: The status in place of the token

    @Test("Every status has its name in upper and lower case")
    func wireNames() {
        let names = TokenFetchStatus.allCases.map(\.wireName)
        #expect(
            names == [
                "SUCCESS", "NO_NETWORK", "MITM_DETECTED", "POOR_NETWORK", "NO_APPROOV_SERVICE", "BAD_URL", "UNKNOWN_URL",
                "UNPROTECTED_URL", "NOT_INITIALIZED", "REJECTED", "DISABLED", "UNKNOWN_KEY", "BAD_KEY", "BAD_PAYLOAD", "INTERNAL_ERROR",
            ])
        #expect(TokenFetchStatus.allCases.map { $0.wireName(.lower) } == names.map { $0.lowercased() })
        #expect(TokenFetchStatus.noNetwork.wireName(.upper) == "NO_NETWORK")
    }

    @Test("The token header carries the status of a request without a token if the session is set to send it", arguments: [false, true])
    func statusInHeader(_ isSent: Bool) async throws {
        let world = try worldWithoutNetwork()
        var configuration = ApproovSessionConfiguration()
        configuration.tokenHeader = TokenHeader(sendsStatusWithoutToken: isSent)
        configuration.sendsWithoutTokenWhenAuthorityIsDown = true
        let session = try ApproovSession(
            service: world.service, trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent),
            configuration: configuration)
        _ = try await session.data(for: request)
        #expect(world.apiRequests.first?.headerFields[values: .approovToken] == (isSent ? ["NO_NETWORK"] : []))
    }

    @Test("A status header carries the status in lower case, with or without a token, never the caller's", arguments: [false, true])
    func statusHeader(_ hasNetwork: Bool) async throws {
        let world = try hasNetwork ? World() : worldWithoutNetwork()
        let status = try #require(HTTPField.Name("Approov-Status"))
        var configuration = ApproovSessionConfiguration()
        configuration.tokenHeader = TokenHeader(statusName: "Approov-Status")
        configuration.sendsWithoutTokenWhenAuthorityIsDown = true
        configuration.excludedURLs = [try URLGlob("https://api.test/public/**")]
        let session = try ApproovSession(
            service: world.service, trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent),
            configuration: configuration)
        _ = try await session.data(for: URLRequest("https://api.test/a", ["approov-status": "forged"]))
        let fields = try #require(world.apiRequests.first).headerFields
        #expect(fields[values: status] == [hasNetwork ? "success" : "no_network"])
        #expect(fields[values: .approovToken].count == (hasNetwork ? 1 : 0))
        _ = try await session.data(for: URLRequest("https://api.test/public/a"))
        #expect(world.apiRequests.last?.headerFields[values: status] == [])
        let adapted = try await ApproovInterceptor(service: world.service, configuration: configuration).adapt(
            URLRequest("https://api.test/a", ["approov-status": "forged"]))
        #expect(adapted.value(forHTTPHeaderField: "Approov-Status") == (hasNetwork ? "success" : "no_network"))
        var repeated = ApproovSessionConfiguration()
        repeated.tokenHeader.statusName = "approov-token"
        let invalid = repeated
        #expect(throws: ApproovError(.initializationError, "")) {
            _ = try ApproovSession(service: world.service, configuration: invalid)
        }
    }
}
