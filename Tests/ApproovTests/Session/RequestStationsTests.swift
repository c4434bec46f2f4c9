import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

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
}
