import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

@testable import Approov

/// A session whose own route has live keys.
@Suite struct LiveKeysTests {
    /// Gives the gateway's keys, from a cache that ends only when it is invalidated, and counts.
    private final class Keys: KeyConfigurationClient {
        let gateway: SmallGateway
        let calls = Shared<[Bool]>([])
        let cached = Shared<Data?>(nil)
        let onFetch = Shared<@Sendable () async throws -> Void>({})

        init(_ gateway: SmallGateway) { self.gateway = gateway }

        func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data {
            calls.change { $0.append(invalidatingCache) }
            try await onFetch.value()
            if !invalidatingCache, let bytes = cached.value { return bytes }
            let bytes = Data(gateway.keyring.value.configurations.encoded())
            cached.value = bytes
            return bytes
        }
    }

    private struct ForeignError: Error {}

    private let world: World
    private let keys: Keys
    private let session: ApproovSession

    init() throws {
        world = try World(hosts: [:])
        keys = Keys(world.gateway)
        let route = try ObliviousRoute(relay: #require(URL(string: "https://relay.test/")), keys: keys)
        session = try world.session(obliviousRoute: route)
    }

    private func changeKeys() throws { world.gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)]) }

    private func get() async throws -> Int {
        try await session.data(for: URLRequest("https://else.test/a")).1.statusCode
    }

    private func post() async throws -> Int {
        try await session.data(for: URLRequest("https://else.test/a", method: "POST", body: "x")).1.statusCode
    }

    @Test("Requests are sealed to the keys that the client gives, which is asked before each")
    func fetched() async throws {
        for _ in 0..<2 { #expect(try await get() == 200) }
        #expect(keys.calls.value == [false, false] && world.gateway.opened.value.count == 2)
        #expect(world.apiRequests.isEmpty)
    }

    @Test(
        "A key that the gateway no longer has is fetched again past the cache, and the request sent once more", arguments: ["GET", "POST"])
    func changed(method: String) async throws {
        #expect(try await get() == 200)
        try changeKeys()
        #expect(try await session.data(for: URLRequest("https://else.test/b", method: method)).1.statusCode == 200)
        #expect(keys.calls.value == [false, false, true])
        #expect(world.gateway.opened.value.map(\.head.path) == ["/a", "/b"] && world.relayRequests.count == 3)
    }

    @Test("A gateway that refuses the keys that it publishes is an error after two attempts")
    func alwaysRefused() async throws {
        world.gateway.script.change { $0.fault = { TransportResponse(status: 401, url: $0.url) } }
        let error = await #expect(throws: ApproovError.self) { try await get() }
        #expect(error?.code == .obliviousError && error?.message.contains("that it publishes") == true)
        #expect(world.relayRequests.count == 2 && keys.calls.value == [false, true])
    }

    @Test("A POST is not sent again for the same keys: the relay may have said that they were refused")
    func sameKeys() async throws {
        let gateway = world.gateway
        gateway.script.change { script in
            script.fault = { request in
                gateway.script.change { $0.fault = nil }
                _ = try await gateway.respond(to: request)
                return TransportResponse(status: 401, url: request.url)
            }
        }
        #expect(await codeThrown(as: ApproovError.self) { try await post() } == .obliviousError)
        #expect(gateway.opened.value.count == 1 && world.relayRequests.count == 1)
        #expect(try await post() == 200)
    }

    @Test("A body from a stream is not sent twice, and the keys are new for the next request")
    func stream() async throws {
        #expect(try await get() == 200)
        try changeKeys()
        func send() async throws {
            var request = URLRequest("https://else.test/s", method: "PUT")
            request.httpBodyStream = InputStream(data: Data("streamed".utf8))
            _ = try await session.data(for: request)
        }
        let error = await #expect(throws: ApproovError.self) { try await send() }
        #expect(error?.code == .obliviousError && error?.message.contains("another stream") == true, "\(String(describing: error))")
        try await send()
        #expect(world.gateway.opened.value.last?.body == Data("streamed".utf8))
    }

    @Test("An error of the client reaches the caller, and nothing is sent")
    func failure() async throws {
        keys.onFetch.value = { throw ApproovError(.networkingError, "no keys") }
        #expect(await codeThrown(as: ApproovError.self) { try await get() } == .networkingError)
        keys.onFetch.value = { throw ForeignError() }
        let error = await #expect(throws: ApproovError.self) { try await get() }
        #expect(error?.cause is ForeignError)
        keys.onFetch.value = {}
        keys.cached.value = Data([0, 1])
        #expect(await codeThrown(as: ApproovError.self) { try await get() } == .obliviousError)
        #expect(world.relayRequests.isEmpty)
    }

    @Test("A client that does not answer ends the request at its time limit")
    func slow() async throws {
        let gate = Gate()
        keys.onFetch.value = { try await gate.wait() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = 30
        let route = try ObliviousRoute(relay: #require(URL(string: "https://relay.test/")), keys: keys)
        let session = try world.session(configuration: configuration, obliviousRoute: route)
        let request = Task { try await session.data(for: URLRequest("https://else.test/a")) }
        #expect(await eventually { gate.waiterCount == 1 && world.clock.sleeperCount > 0 })
        world.clock.advance(by: .seconds(30))
        #expect(await codeThrown(as: ApproovError.self) { try await request.value } == .timedOut)
        #expect(world.relayRequests.isEmpty)
    }

    @Test("A host that a newer configuration names while the keys are fetched no longer takes the session's own route")
    func newerConfiguration() async throws {
        let newer = try world.account.signed(world.account.configuration(version: 2, hosts: ["else.test": .pinned]))
        keys.onFetch.value = { [world] in _ = await world.service.keeper.offer([newer]) }
        #expect(try await get() == 200)
        #expect(world.relayRequests.isEmpty && world.apiRequests.count == 1)
        #expect(world.apiRequests.first?.headerFields.contains(.approovToken) == true)
        #expect(try await get() == 200)
        #expect(keys.calls.value == [false])
    }
}
