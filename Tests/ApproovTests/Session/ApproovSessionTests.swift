import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

// Acceptance list: S1.14, S1.23, S1.32, S2.66, S2.74, S3.43
@Suite struct ApproovSessionTests {
    struct Authorizing: RequestInterceptor {
        let value: String
        func adapt(_ request: URLRequest) async throws -> URLRequest {
            var request = request
            request.setValue(value, forHTTPHeaderField: "Authorization")
            return request
        }
    }

    @Test("A protected request carries a token that is bound to the header that an interceptor set")
    func protectedCall() async throws {
        let world = try World()
        let session = try world.session(interceptors: [Authorizing(value: "Bearer abc")], bindHeader: "Authorization")
        let (data, response) = try await session.data(for: URLRequest("https://api.test/shapes", ["X-Own": "1"]))
        #expect(String(decoding: data, as: UTF8.self) == "/shapes")
        #expect(response.statusCode == 200)
        #expect(response.url?.absoluteString == "https://api.test/shapes")
        let sent = try #require(world.apiRequests.first)
        let token = try #require(sent.headerFields[.approovToken])
        #expect(try pay(ofToken: token) == Binding.payHash(of: "Bearer abc"))
        #expect(sent.headerFields[.approovTraceID] != nil)
        #expect(sent.headerFields[.authorization] == "Bearer abc")
        #expect(sent.headerFields[.accept] == "*/*")
        #expect(sent.headerFields.count == 5)
        let host = try CanonicalHost("api.test")
        #expect(try sent.policy.rule(for: host).evaluators.first is PublicKeysTrustEvaluator)
    }

    @Test("A host that is not protected gets no token, and its certificate path is validated")
    func unprotectedCall() async throws {
        let world = try World()
        _ = try await world.session(bindHeader: "Authorization").data(for: URLRequest("https://else.test/"))
        let sent = try #require(world.apiRequests.first)
        #expect(world.apiRequests.count == 1)
        #expect(sent.headerFields[.approovToken] == nil)
        #expect(try sent.policy.rule(for: try CanonicalHost("else.test")).validatesPath)
    }

    @Test(
        "A protected host in an unusual spelling is either protected like the host or refused",
        arguments: [
            ("https://API.test/", true), ("https://api.test./", true), ("https://api.test:443/", true), ("https://api.test:8443/", true),
            ("https://user@api.test/", false), ("https://%61pi.test/", false), ("https://api.test\\@evil.test/", false),
        ])
    func spelling(_ text: String, _ isProtected: Bool) async throws {
        let world = try World()
        let session = try world.session()
        guard let url = URL(string: text) else { return }
        if isProtected {
            _ = try await session.data(from: url)
            let sent = try #require(world.apiRequests.first)
            #expect(sent.headerFields[.approovToken] != nil)
            #expect(sent.url.host.name == "api.test")
        } else {
            await #expect(throws: ApproovError(.badRequest, "")) { try await session.data(from: url) }
            #expect(world.transport.requests.isEmpty)
        }
    }

    @Test(
        "A loopback address in a numeric spelling is either treated as 127.0.0.1 or refused",
        arguments: ["2130706433", "0x7f000001", "127.1", "[::ffff:127.0.0.1]"])
    func loopback(_ host: String) async throws {
        let world = try World(hosts: ["127.0.0.1": .pinned])
        let session = try world.session()
        do {
            _ = try await session.data(for: URLRequest("https://\(host)/"))
            #expect(world.apiRequests.first?.headerFields[.approovToken] != nil)
        } catch {
            #expect((error as? ApproovError)?.code == .badRequest)
        }
    }

    @Test("Plain HTTP to a protected or evaluated host is refused before any I/O; elsewhere it goes without a token")
    func cleartext() async throws {
        let world = try World()
        let manager = ApproovTrustManager(
            evaluators: ["evaluated.test": DefaultTrustEvaluator()], anchors: .of(world.account.root), logger: .silent)
        let session = try world.session(trustManager: manager)
        for text in ["http://api.test/", "http://API.test./", "http://evaluated.test/"] {
            await #expect(throws: ApproovError(.pinningError, "")) { try await session.data(for: URLRequest(text)) }
        }
        #expect(world.transport.requests.isEmpty)
        _ = try await session.data(for: URLRequest("http://else.test/"))
        #expect(world.apiRequests.first?.headerFields[.approovToken] == nil)
    }

    @Test("With `allHostsMustBeEvaluated`, an unknown host is refused before any I/O, over HTTPS and HTTP")
    func allHosts() async throws {
        let world = try World()
        let manager = ApproovTrustManager(allHostsMustBeEvaluated: true, anchors: .of(world.account.root), logger: .silent)
        let session = try world.session(trustManager: manager)
        for text in ["https://else.test/", "http://else.test/"] {
            await #expect(throws: ApproovError(.pinningError, "")) { try await session.data(for: URLRequest(text)) }
        }
        #expect(world.transport.requests.isEmpty)
        _ = try await session.data(for: URLRequest("https://api.test/"))
    }

    @Test(
        "The error names the interceptor that changed the request's host, port or scheme",
        arguments: [
            "https://evil.test/", "https://api.test:444/", "http://api.test/",
        ])
    func interceptorChangesHost(_ target: String) async throws {
        struct Diverting: RequestInterceptor {
            let target: String
            func adapt(_ request: URLRequest) async throws -> URLRequest { URLRequest(target) }
        }
        let world = try World()
        let session = try world.session(interceptors: [Diverting(target: target)])
        await #expect {
            try await session.data(for: URLRequest("https://api.test/"))
        } throws: {
            ($0 as? ApproovError)?.code == .interceptorError && "\($0)".contains("Diverting")
        }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("An interceptor may change path and query, and an error that it throws is the cause")
    func interceptorPaths() async throws {
        struct Pathing: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                if request.url?.path() == "/bad" { throw CocoaError(.userCancelled) }
                return request.url?.path() == "/new" ? request : URLRequest("https://api.test/new?x=1", request.allHTTPHeaderFields ?? [:])
            }
        }
        let world = try World()
        let session = try world.session(interceptors: [Pathing()])
        let (data, response) = try await session.data(for: URLRequest("https://api.test/old"))
        #expect(String(decoding: data, as: UTF8.self) == "/new?x=1")
        #expect(response.url?.absoluteString == "https://api.test/old")
        #expect(world.apiRequests.last?.url.text == "https://api.test/new?x=1")
        await #expect {
            try await session.data(for: URLRequest("https://api.test/bad"))
        } throws: {
            ($0 as? ApproovError)?.code == .interceptorError && ($0 as? ApproovError)?.cause is CocoaError
        }
    }

    @Test("An interceptor may change method and body, and a body that it does not change is sent as the caller gave it")
    func interceptorBodies() async throws {
        struct Wrapping: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                guard let body = request.httpBody else { return request }
                var request = request
                request.httpMethod = "PUT"
                request.httpBody = Data("[".utf8) + body + Data("]".utf8)
                return request
            }
        }
        let world = try World()
        let session = try world.session(interceptors: [Wrapping()])
        _ = try await session.data(for: URLRequest("https://api.test/", method: "POST", body: "1"))
        _ = try await session.upload(for: URLRequest("https://api.test/", method: "POST"), from: Data("2".utf8))
        let sent = world.apiRequests.map { request -> String in
            guard case .bytes(let bytes) = request.body else { return "" }
            return "\(request.method) \(String(decoding: bytes, as: UTF8.self))"
        }
        #expect(sent == ["PUT [1]", "POST 2"])
    }

    @Test("Malformed methods, header names and header values are refused, and the error does not show the value")
    func malformed() async throws {
        let world = try World()
        let session = try world.session()
        var method = URLRequest("https://api.test/")
        method.httpMethod = "GET /x"
        for request in [
            method, URLRequest("https://api.test/", ["X": "secret\r\nY: z"]), URLRequest("https://api.test/", ["X Y": "secret"]),
        ] {
            await #expect {
                try await session.data(for: request)
            } throws: {
                ($0 as? ApproovError)?.code == .badRequest && !"\($0)".contains("secret")
            }
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("200 concurrent requests with 20 Authorization values each carry the token for their own value")
    func concurrentBindings() async throws {
        let world = try World()
        let session = try world.session(bindHeader: "Authorization")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    _ = try await session.data(for: URLRequest("https://api.test/", ["Authorization": "Bearer \(number % 20)"]))
                }
            }
            try await group.waitForAll()
        }
        #expect(world.apiRequests.count == 200)
        for request in world.apiRequests {
            let token = try #require(request.headerFields[.approovToken])
            #expect(try pay(ofToken: token) == Binding.payHash(of: try #require(request.headerFields[.authorization])))
        }
        #expect(world.authority.seen.value.attestations.count == 20)
    }

    @Test("If no token can be obtained and waiting would not help, the API gets no request, whatever the session allows")
    func noToken() async throws {
        for isAllowed in [false, true] {
            for (code, world) in try World.withoutTokens() {
                let session = try world.session(sendsWithoutTokenWhenAuthorityIsDown: isAllowed)
                let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) }
                #expect(error?.code == code)
                #expect(world.apiRequests.isEmpty)
            }
        }
    }

    @Test("A session applies its token header, its excluded URLs and its setting for an outage of the authority")
    func tokenSettings() async throws {
        let world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
        func session(isAllowed: Bool) throws -> ApproovSession {
            var configuration = ApproovSessionConfiguration()
            configuration.tokenHeader = TokenHeader(name: "X-Attestation", prefix: "Bearer ", traceIDName: "X-Trace")
            configuration.excluding = { $0.path().hasPrefix("/public") }
            configuration.sendsWithoutTokenWhenAuthorityIsDown = isAllowed
            return try ApproovSession(
                wrapping: URLSession(configuration: .ephemeral), service: world.service,
                trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
        }
        let tokenName = try #require(HTTPField.Name("X-Attestation"))
        let traceName = try #require(HTTPField.Name("X-Trace"))
        let lax = try session(isAllowed: true)
        _ = try await lax.data(for: URLRequest("https://api.test/shapes"))
        let protected = try #require(world.apiRequests.last).headerFields
        #expect(protected[tokenName]?.hasPrefix("Bearer ey") == true)
        #expect(protected[traceName]?.hasPrefix("trace-") == true)
        #expect(protected[.approovToken] == nil && protected[.approovTraceID] == nil)
        _ = try await lax.data(for: URLRequest("https://api.test/public/x"))
        #expect(try #require(world.apiRequests.last).headerFields[tokenName] == nil)
        #expect(world.apiRequests.count == 2)

        // The other host has no token yet.
        world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "refused") }
        let strict = try session(isAllowed: false)
        let error = await #expect(throws: ApproovError.self) { try await strict.data(for: URLRequest("https://other.test/")) }
        #expect(error?.isRetryable == true)
        #expect(world.apiRequests.count == 2)
        _ = try await lax.data(for: URLRequest("https://other.test/"))
        #expect(world.apiRequests.count == 3)
        #expect(try #require(world.apiRequests.last).headerFields[tokenName] == nil)
    }

    @Test("During an update, each of 200 requests follows only the old rules or only the new ones")
    func updateInFlight() async throws {
        let world = try World()
        let session = try world.session()
        let updated = try world.account.signed(
            world.account.configuration(version: 2, hosts: ["other.test": .pinned, "api.test": .pinned.with { $0.enforce = false }]))
        world.api.value = { request in
            try await Task.sleep(for: .microseconds(Int.random(in: 0..<500)))
            return TransportResponse(status: 200, url: request.url)
        }
        // One request before and one after the others, because the update may come before or after all of them.
        _ = try await session.data(for: URLRequest("https://api.test/"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                let host = number.isMultiple(of: 2) ? "api.test" : "other.test"
                group.addTask { _ = try await session.data(for: URLRequest("https://\(host)/")) }
                if number == 100 { group.addTask { #expect(await world.service.keeper.offer([updated])) } }
            }
            try await group.waitForAll()
        }
        _ = try await session.data(for: URLRequest("https://api.test/"))
        let other = try CanonicalHost("other.test")
        let api = try CanonicalHost("api.test")
        var seen = Set<Bool>()
        for request in world.apiRequests {
            let isNew = request.policy.hasRule(for: other)
            seen.insert(isNew)
            let hasPins = try request.policy.rule(for: api).evaluators.first is PublicKeysTrustEvaluator
            #expect(hasPins == !isNew)
            if request.url.host == other { #expect((request.headerFields[.approovToken] != nil) == isNew) }
        }
        #expect(seen == [true, false])
    }

    @Test("If the first token brings a new configuration, the same request already follows it")
    func configurationWithToken() async throws {
        let world = try World()
        let session = try world.session()
        let updated = try world.account.signed(
            world.account.configuration(version: 2, hosts: ["api.test": .pinned.with { $0.enforce = false }]))
        world.authority.script.value.configurations = [updated]
        _ = try await session.data(for: URLRequest("https://api.test/"))
        let rule = try #require(world.apiRequests.first).policy.rule(for: try CanonicalHost("api.test"))
        #expect(rule.evaluators.first is ReportOnlyTrustEvaluator)
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("After a pin was rotated, the client gets the new configuration, and a request succeeds without a restart")
    func rotatedPin() async throws {
        let account = try TestAccount()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: account.root)
        let world = try World(account: account, certificates: ["api.test": leaf])
        let session = try world.session()
        await #expect {
            try await session.data(for: URLRequest("https://api.test/"))
        } throws: {
            ($0 as? ApproovError)?.refusal?.reason == .pinMismatch
        }
        #expect(world.apiRequests.isEmpty)
        let pins = [leaf.pin.description, TestAccount.pinB]
        world.authority.script.value.configurations = [
            try account.signed(account.configuration(version: 2, hosts: ["api.test": HostSettings(pins: pins)]))
        ]
        world.clock.advance(by: .seconds(10))
        let (_, response) = try await session.data(for: URLRequest("https://api.test/"))
        #expect(response.statusCode == 200)
        #expect(world.service.configuration.version == 2)
    }

    @Test("100 requests to an impostor cause only one request for the configuration")
    func impostorFlood() async throws {
        let account = try TestAccount()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: account.root)
        let world = try World(account: account, certificates: ["api.test": leaf])
        let session = try world.session()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try? await session.data(for: URLRequest("https://api.test/")) } }
        }
        #expect(world.authority.seen.value.configurationRequests == 1)
        #expect(world.apiRequests.isEmpty)
    }

    @Test("In 1,000 interleaved requests, a pinned host stays validated beside a host whose validation is disabled")
    func interleaved() async throws {
        let world = try World()
        let manager = ApproovTrustManager(
            evaluators: ["open.test": DisabledTrustEvaluator(), "api.test": DisabledTrustEvaluator()],
            anchors: .of(world.account.root), logger: .silent)
        let session = try world.session(trustManager: manager)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<1_000 {
                let host = number.isMultiple(of: 2) ? "api.test" : "open.test"
                group.addTask { _ = try await session.data(for: URLRequest("https://\(host)/")) }
            }
            try await group.waitForAll()
        }
        for request in world.apiRequests {
            let rule = try request.policy.rule(for: request.url.host)
            #expect(rule.validatesPath == (request.url.host.name == "api.test"))
        }
    }

    @Test("A prefetch with the binding among the additional headers fetches the first request's token")
    func prefetchBound() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer abc"]
        let session = try world.session(configuration: configuration, bindHeader: "Authorization", prefetchToken: true)
        #expect(await eventually { world.service.cachedTokenCount == 1 })
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(world.authority.seen.value.attestations.count == 1)
    }

    @Test("A prefetch without the binding fetches a challenge and the configuration")
    func prefetchUnbound() async throws {
        let world = try World()
        let session = try world.session(bindHeader: "Authorization", prefetchToken: true)
        #expect(await eventually { world.authority.seen.value.challenges == 1 })
        #expect(world.authority.seen.value.configurationRequests == 1)
        #expect(world.authority.seen.value.attestations.isEmpty)
        session.prefetch(for: try #require(URL(string: "https://api.test/")), binding: "Bearer abc")
        #expect(await eventually { world.service.cachedTokenCount == 1 })
        #expect(world.authority.seen.value.challenges == 1)
    }

    @Test("A session without a service adds no token and no other header except Accept")
    func noService() async throws {
        let transport = InProcessTransport(status: 200)
        let session = try ApproovSession(
            service: nil, trustManager: ApproovTrustManager(anchors: .of(try TestPKI.root())), configuration: .over(transport))
        // Another test may just have put a cookie for api.test into the storage that all sessions share.
        _ = try await session.data(for: URLRequest("https://no-service.test/"))
        #expect(transport.requests.first?.headerFields == [.accept: "*/*"])
    }

    @Test("A session rejects an `ApproovInterceptor` among the caller's interceptors, because it sets the token itself")
    func twoInterceptors() throws {
        let world = try World()
        let own = try ApproovInterceptor(service: world.service)
        #expect(throws: ApproovError(.initializationError, "")) { try world.session(interceptors: [own]) }
    }

    @Test(
        "A transport error gets the matching SDK code and stays available as the cause",
        arguments: [
            (TransportError.Code.connectionFailed, ApproovError.Code.networkingError, true), (.totalTimeout, .timedOut, true),
            (.connectionLost, .networkingError, true), (.trustRefused, .pinningError, false), (.bodyTooLarge, .responseTooLarge, false),
            (.invalidHeader, .badRequest, false),
            (.requestBodyFailed, .bodyFailed, false), (.shutDown, .permanentError, false),
        ])
    func errors(_ code: TransportError.Code, _ expected: ApproovError.Code, _ isRetryable: Bool) async throws {
        let world = try World()
        world.api.value = { _ in throw TransportError(code, "for the test") }
        let session = try world.session()
        await #expect {
            try await session.data(for: URLRequest("https://else.test/"))
        } throws: { error in
            let error = error as? ApproovError
            return error?.code == expected && error?.isRetryable == isRetryable && error?.cause is TransportError
        }
    }

    @Test(
        "A POST that may have been executed is not retryable, and neither is one whose redirect failed",
        arguments: [
            (TransportError.Code.totalTimeout, ApproovError.Code.timedOut, false), (.connectionLost, .networkingError, false),
            (.connectionFailed, .networkingError, true),
        ])
    func notRepeatable(_ code: TransportError.Code, _ expected: ApproovError.Code, _ isRetryable: Bool) async throws {
        let world = try World()
        let session = try world.session()
        func failure() async throws -> ApproovError? {
            var request = URLRequest("https://else.test/")
            request.httpMethod = "POST"
            let post = request
            return await #expect(throws: ApproovError.self) { try await session.data(for: post) }
        }
        world.api.value = { _ in throw TransportError(code, "for the test") }
        var error = try await failure()
        #expect(error?.code == expected && error?.isRetryable == isRetryable)
        world.api.value = { request in
            guard request.method == .post else { throw TransportError(code, "for the test") }
            return TransportResponse(status: 303, headerFields: [.location: "https://else.test/after"], url: request.url)
        }
        error = try await failure()
        #expect(error?.code == expected && error?.isRetryable == false)
    }

    @Test("A POST is sent once, even if its redirect fails before it is sent", arguments: [false, true])
    func redirectIsNotSent(hasRetryPolicy: Bool) async throws {
        struct LacksCredential: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                guard request.url?.path() != "/after" else { throw ApproovError(.networkingError, "no credential; try again") }
                return request
            }
        }
        let world = try World()
        let posts = Shared(0)
        world.api.value = { request in
            posts.change { $0 += 1 }
            return TransportResponse(status: 303, headerFields: [.location: "https://else.test/after"], url: request.url)
        }
        var policy = RetryPolicy()
        policy.firstDelay = .zero
        let session = try world.session(interceptors: hasRetryPolicy ? [LacksCredential(), policy] : [LacksCredential()])
        let error = await #expect(throws: ApproovError.self) {
            try await session.data(for: URLRequest("https://else.test/", method: "POST"))
        }
        #expect(error?.code == .networkingError && error?.isRetryable == false)
        #expect(error?.message.contains("the server may have executed one of its requests") == true)
        #expect((error?.cause as? ApproovError)?.message.contains("no credential") == true)
        #expect(posts.value == 1)
    }

    @Test(
        "A GET that an interceptor made a POST is one: it is not sent again", arguments: ["lost", "503", "503 refused", "redirect", "body"])
    func becomesPOST(failure: String) async throws {
        struct Posts: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                guard request.url?.path() != "/after" else { return request }
                var request = request
                request.httpMethod = "POST"
                return request
            }
        }
        let world = try World()
        let methods = Shared<[HTTPRequest.Method]>([])
        world.api.value = { request in
            methods.change { $0.append(request.method) }
            let lost = TransportError(.connectionLost, "for the test")
            switch failure {
            case "redirect" where request.method == .post:
                return TransportResponse(status: 303, headerFields: [.location: "https://else.test/after"], url: request.url)
            case "503", "503 refused": return TransportResponse(status: 503, url: request.url)
            case "body":
                let body = ResponseBody(AsyncThrowingStream<[UInt8], any Error> { $0.finish(throwing: lost) })
                return TransportResponse(status: 200, url: request.url, body: body)
            default: throw lost
            }
        }
        var policy = RetryPolicy()
        policy.firstDelay = .zero
        let session = try world.configured { configuration in
            configuration.interceptors = [Posts(), policy]
            if failure == "503 refused" { configuration.validators = [StatusValidator()] }
        }
        let outcome: Result<Int, any Error>
        do {
            outcome = .success(try await session.data(for: URLRequest("https://else.test/")).1.statusCode)
        } catch {
            outcome = .failure(error)
        }
        switch outcome {
        case .success(let status): #expect(failure == "503" && status == 503)
        case .failure(let error): #expect((error as? ApproovError)?.isRetryable == false)
        }
        #expect(methods.value == (failure == "redirect" ? [.post, .get] : [.post]))
    }

    @Test("Cancellation reaches the transport, and the caller gets a CancellationError")
    func cancellation() async throws {
        let world = try World()
        let started = Shared(false)
        let ended = Shared(false)
        world.api.value = { request in
            started.value = true
            defer { ended.value = true }
            try await Task.sleep(for: .seconds(3_600))
            return TransportResponse(status: 200, url: request.url)
        }
        let session = try world.session()
        let task = Task { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(await eventually { started.value })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ended.value)
    }
}
