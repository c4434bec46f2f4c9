@_spi(Internals) import ApproovBase
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

// Acceptance list: S1.23
@Suite struct RequestStationsTests {
    /// Logs the header names at station 3, and the question about a retry at station 9.
    struct Witness: RequestInterceptor {
        let log: Shared<[String]>
        var onAdapt: @Sendable () async throws -> Void = {}

        func adapt(_ request: URLRequest) async throws -> URLRequest {
            let headers = request.allHTTPHeaderFields ?? [:]
            log.change { $0.append("interceptors: " + headers.keys.sorted().joined(separator: " ")) }
            try await onAdapt()
            var request = request
            request.setValue("Bearer \(log.value.count)", forHTTPHeaderField: "Authorization")
            return request
        }

        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
            log.change { $0.append("response") }
            return .doNotRetry
        }
    }

    /// A world that logs its attestations and the requests to its API.
    private func world(_ log: Shared<[String]>, hosts: [String: HostSettings] = ["api.test": .pinned]) throws -> World {
        let world = try World(hosts: hosts)
        world.authority.script.value.fault = { request in
            if request.url.target == "/v1/attestations" { log.change { $0.append("token") } }
            return nil
        }
        world.api.value = { request in
            log.change { $0.append("transport: \(request.headerFields.contains(.approovToken) ? "with" : "without") token") }
            return TransportResponse(status: 200, url: request.url)
        }
        return world
    }

    @Test("A request passes defaults, interceptors, token, transport and response in this order")
    func order() async throws {
        let log = Shared<[String]>([])
        let world = try world(log)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Default": "1"]
        let session = try world.session(configuration: configuration, interceptors: [Witness(log: log)], bindHeader: "Authorization")
        _ = try await session.data(for: URLRequest("https://api.test/", ["X-Own": "1"]))
        #expect(log.value == ["interceptors: X-Default X-Own", "token", "transport: with token", "response"])
        let sent = try #require(world.apiRequests.first)
        #expect(try pay(ofToken: try #require(sent.headerFields[.approovToken])) == Binding.payHash(of: "Bearer 1"))
    }

    @Test(
        "A request that must not be sent reaches neither the interceptors nor the transport",
        arguments: ["http://api.test/", "http://API.test./x"])
    func refused(_ url: String) async throws {
        let log = Shared<[String]>([])
        let world = try world(log)
        let session = try world.session(interceptors: [Witness(log: log)])
        await #expect(throws: ApproovError(.pinningError, "")) { try await session.data(for: URLRequest(url)) }
        #expect(log.value == ["response"])
        #expect(world.transport.requests.isEmpty)
    }

    @Test("An interceptor that throws ends the request before a token is fetched, and neither the authority nor the API gets anything")
    func refusedByInterceptor() async throws {
        struct Refusal: Error {}
        let (log, refuses) = (Shared<[String]>([]), Shared(true))
        let world = try world(log)
        let witness = Witness(log: log) { if refuses.value { throw Refusal() } }
        let session = try world.session(interceptors: [witness], bindHeader: "Authorization")
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(error?.code == .interceptorError && error?.cause is Refusal)
        #expect(world.transport.requests.isEmpty && world.service.cachedTokenCount == 0)
        // Without the refusal, the same session gets a token and sends the request.
        log.value = []
        refuses.value = false
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(log.value == ["interceptors: ", "token", "transport: with token", "response"])
        #expect(world.service.cachedTokenCount == 1)
    }

    @Test("Each redirect starts from the caller's own request, without the headers that the stations added")
    func redirect() async throws {
        let log = Shared<[String]>([])
        let world = try world(log)
        world.api.value = { request in
            let isFirst = request.url.target == "/one"
            return TransportResponse(status: isFirst ? 302 : 200, headerFields: isFirst ? [.location: "/two"] : [:], url: request.url)
        }
        let session = try world.session(interceptors: [Witness(log: log)], bindHeader: "Authorization")
        _ = try await session.data(for: URLRequest("https://api.test/one", ["X-Own": "1"]))
        #expect(log.value == ["interceptors: X-Own", "token", "interceptors: X-Own", "token", "response"])
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer 1", "Bearer 3"])
    }

    @Test("A configuration that arrives while an interceptor runs applies to the token and the transport after it")
    func newerConfiguration() async throws {
        let log = Shared<[String]>([])
        let world = try world(log, hosts: [:])
        let newer = try world.account.signed(world.account.configuration(version: 2, hosts: ["api.test": .pinned]))
        let witness = Witness(log: log) { _ = await world.service.keeper.offer([newer]) }
        _ = try await world.session(interceptors: [witness]).data(for: URLRequest("https://api.test/"))
        #expect(log.value.filter { $0 != "response" } == ["interceptors: ", "token", "transport: with token"])
        #expect(world.service.configuration.version == 2)
    }

    @Test("Plain HTTP is refused if a configuration that arrives during the request protects the host")
    func newerConfigurationRefuses() async throws {
        let log = Shared<[String]>([])
        let world = try world(log, hosts: [:])
        let newer = try world.account.signed(world.account.configuration(version: 2, hosts: ["api.test": .pinned]))
        let session = try world.session(interceptors: [Witness(log: log) { _ = await world.service.keeper.offer([newer]) }])
        await #expect(throws: ApproovError(.pinningError, "")) { try await session.data(for: URLRequest("http://api.test/")) }
        #expect(world.apiRequests.isEmpty)
    }

    /// A transport that takes long to connect to the API, and then asks the rules as the real one does.
    struct SlowToConnect: HTTPTransport {
        let world: World
        let onConnect: @Sendable (TransportRequest) async throws -> Void

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            guard request.url.host.name == "api.test" else { return try await world.transport.send(request) }
            try await onConnect(request)
            guard request.options.rules?.areInForce == true else { throw TransportError(.rulesChanged, "nothing was sent") }
            return try await world.transport.send(request)
        }
    }

    /// A session in whose requests a newer configuration comes into force each time the transport connects, up to a version.
    private func session(
        in world: World, upTo last: Int64, onConnect: @escaping @Sendable (TransportRequest) async throws -> Void = { _ in }
    )
        throws -> ApproovSession
    {
        let transport = SlowToConnect(world: world) { request in
            try await onConnect(request)
            let version = world.service.configuration.version + 1
            guard version <= last else { return }
            _ = await world.service.keeper.offer([try world.account.signed(world.account.configuration(version: version))])
        }
        return try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: .over(transport))
    }

    @Test("A request whose rules change while the transport connects is prepared again and sent once, under the newer rules")
    func changeWhileConnecting() async throws {
        let world = try World()
        let connections = Shared(0)
        let session = try session(in: world, upTo: 2) { _ in connections.change { $0 += 1 } }
        let (_, response) = try await session.data(for: URLRequest("https://api.test/", method: "POST", body: "once"))
        #expect(response.statusCode == 200)
        #expect(connections.value == 2)
        #expect(world.apiRequests.count == 1)
        #expect(world.service.configuration.version == 2)
    }

    @Test("A request that is suspended while the transport connects is prepared again and sent once, after it is resumed")
    func suspendedWhileConnecting() async throws {
        let world = try World()
        let connections = Shared(0)
        let session = try session(in: world, upTo: 1) { request in
            connections.change { $0 += 1 }
            if connections.value == 1 { throw TransportError(.suspended, "nothing was sent") }
        }
        let (_, response) = try await session.data(for: URLRequest("https://api.test/", method: "POST", body: "once"))
        #expect(response.statusCode == 200)
        #expect(connections.value == 2)
        #expect(world.apiRequests.count == 1)
    }

    @Test("A request whose rules change with every connection fails, and is never sent")
    func changeWithEveryConnection() async throws {
        let world = try World()
        let session = try session(in: world, upTo: .max)
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(error?.code == .networkingError && error?.message.contains("changed again and again") == true)
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A request whose rules change after its body stream was read fails with an error that the app may retry, and is never sent")
    func changeAfterReading() async throws {
        let world = try World()
        let session = try session(in: world, upTo: 2) { _ = try await $0.body.collected(upTo: 100) }
        var request = URLRequest("https://api.test/", method: "POST")
        request.httpBodyStream = InputStream(data: Data("once".utf8))
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: request) }
        #expect(error?.code == .networkingError && error?.isRetryable == true)
        #expect((error?.cause as? TransportError)?.code == .rulesChanged)
        #expect(world.apiRequests.isEmpty)
    }

    @Test("If the configuration changes with every token, the request fails and is not sent")
    func endlessChange() async throws {
        let world = try World()
        let version = Shared<Int64>(1)
        world.authority.script.value.lifetime = 10
        world.authority.script.value.fault = { [unowned world] request in
            guard request.url.target == "/v1/attestations" else { return nil }
            let number = version.change { version in
                version += 1
                return version
            }
            let newer = try world.account.signed(world.account.configuration(version: number))
            world.authority.script.change { $0.configurations = [newer] }
            // The token has expired when it arrives, so each attempt needs another one.
            world.clock.advance(by: .seconds(12))
            return nil
        }
        let error = await #expect(throws: ApproovError.self) {
            try await world.session().data(for: URLRequest("https://api.test/"))
        }
        #expect(error?.code == .networkingError && error?.message.contains("changed again and again") == true)
        #expect(world.authority.seen.value.attestations.count == 4)
        #expect(world.apiRequests.isEmpty)
    }

    /// A policy that lets time pass whenever it sees a prepared request, and notes the tokens.
    private struct SlowPolicy: AttestationPolicy {
        let clock: ManualClock
        /// How long each look takes; further ones take no time.
        let delays: Shared<[Duration]>
        let tokens = Shared<[String?]>([])

        init(_ clock: ManualClock, _ delays: [Duration]) {
            self.clock = clock
            self.delays = Shared(delays)
        }

        func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest {
            tokens.change { $0.append(request.value(forHTTPHeaderField: "Approov-Token")) }
            let delay: Duration = delays.change { $0.isEmpty ? .zero : $0.removeFirst() }
            clock.advance(by: delay)
            return request
        }
    }

    private func session(in world: World, policy: any AttestationPolicy) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration()
        configuration.policy = policy
        return try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
    }

    @Test("If a token expires while the policy looks at the request, the request is prepared again, and sent with another token")
    func tokenExpiresMeanwhile() async throws {
        let world = try World()
        world.authority.script.value.lifetime = 20
        let policy = SlowPolicy(world.clock, [.seconds(18)])
        _ = try await session(in: world, policy: policy).data(for: URLRequest("https://api.test/"))
        let tokens = policy.tokens.value
        #expect(tokens.count == 2 && Set(tokens).count == 2)
        #expect(world.apiRequests.map { $0.headerFields[.approovToken] } == Array(tokens.suffix(1)))
    }

    @Test("If a token expires while the policy decides about it, the request is sent with another token")
    func tokenExpiresInDecision() async throws {
        struct Asking: AttestationPolicy {
            let clock: ManualClock
            let count = Shared(0)
            func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
                let isFirst = count.change { count in
                    count += 1
                    return count == 1
                }
                if isFirst { clock.advance(by: .seconds(25)) }
                return .attach
            }
        }
        let world = try World()
        world.authority.script.value.lifetime = 20
        let policy = Asking(clock: world.clock)
        _ = try await session(in: world, policy: policy).data(for: URLRequest("https://api.test/"))
        #expect(policy.count.value == 2)
        #expect(world.authority.seen.value.attestations.count == 2 && world.apiRequests.count == 1)
    }

    @Test("A request whose token expires each time that it is prepared is prepared twice, and then sent")
    func tokenAlwaysExpires() async throws {
        let world = try World()
        world.authority.script.value.lifetime = 10
        let policy = SlowPolicy(world.clock, Array(repeating: .seconds(9), count: 4))
        let session = try session(in: world, policy: policy)
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(Set(policy.tokens.value).count == 2)
        #expect(world.apiRequests.count == 1)
    }

    @Test("A token that is too old when it arrives is sent, because another one would be no newer")
    func tokenTooOldOnArrival() async throws {
        let world = try World()
        world.authority.script.value.lifetime = 10
        world.authority.script.value.fault = { [unowned world] request in
            if request.url.target == "/v1/attestations" { world.clock.advance(by: .seconds(12)) }
            return nil
        }
        let policy = SlowPolicy(world.clock, [.seconds(1)])
        _ = try await session(in: world, policy: policy).data(for: URLRequest("https://api.test/"))
        #expect(policy.tokens.value.count == 1)
        #expect(world.apiRequests.count == 1)
    }

    /// A session without a service, whose transport answers at once.
    private func tracking(
        _ transport: InProcessTransport, _ observer: RecordingObserver, _ interceptor: any RequestInterceptor
    ) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.tracksRequests = true
        configuration.observers = [observer]
        configuration.interceptors = [interceptor]
        return try ApproovSession(wrapping: URLSession(configuration: .ephemeral), service: nil, configuration: configuration)
    }

    @Test(
        "A request that is wiped, or whose session is invalidated, while an interceptor works reaches neither observers nor the transport")
    func wipedMeanwhile() async throws {
        for isInvalidated in [false, true] {
            let transport = InProcessTransport(status: 200)
            let observer = RecordingObserver()
            let made = Shared<ApproovSession?>(nil)
            let session = try tracking(
                transport, observer,
                Witness(log: Shared([])) {
                    guard let session = made.value else { return }
                    if isInvalidated {
                        session.invalidateAndCancel()
                    } else {
                        // Marks the request; the cancellation of its task comes later.
                        _ = session.flights?.begin(generation: 1)
                    }
                })
            made.value = session
            let error = await #expect(throws: (any Error).self) { try await session.data(for: URLRequest("https://api.test/")) }
            #expect(isInvalidated ? error as? ApproovError == ApproovError(.sessionInvalidated, "") : error is CancellationError)
            #expect(transport.requests.isEmpty)
            #expect(await observer.calls(1))
            #expect(observer.requests.value.isEmpty)
            made.value = nil
        }
    }

    @Test("A request counts as one to its host before anything of that host is read for it")
    func visited() async throws {
        let transport = InProcessTransport(status: 200)
        let session = try tracking(transport, RecordingObserver(), Witness(log: Shared([])))
        let flight = try #require(session.flights).begin(URLRequest("https://first.test/"))
        // A header that cannot be sent, so that the defaults, which read the cookies, fail.
        let step = try RedirectStep(
            URLRequest("https://api.test/", ["X-Bad": "a\u{0}b"]), body: .none, urls: LastValue<URL, TransportURL>())
        let performer = session.performer
        await #expect(throws: ApproovError(.badRequest, "")) {
            try await performer.stations.pass(
                step, by: RequestDeadline(after: .seconds(10), on: ManualClock()), RequestObservation(flight: flight))
        }
        #expect(flight.record.isWithin(.hosts([try HostPattern("api.test")])))
    }
}
