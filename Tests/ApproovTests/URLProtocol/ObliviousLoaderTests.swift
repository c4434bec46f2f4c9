import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

@testable import Approov

@Suite("ObliviousLoader")
struct ObliviousLoaderTests {
    private let gateway: SmallGateway
    private let clock = ManualClock()
    private let fetches = Shared(0)
    /// The key server's header fields, which set the lifetime of its keys, and its status.
    private let keyServer = Shared<(fields: HTTPFields, status: Int)>(([.cacheControl: "max-age=60"], 200))
    /// The key server's content type, and how many copies of the keys it sends.
    private let keyContent = Shared<(type: String, copies: Int)>((OHTTPMediaType.keys, 1))

    init() throws { gateway = try SmallGateway() }

    private func loader() throws -> (ObliviousLoader, InProcessTransport) {
        let (gateway, fetches, keyServer, keyContent) = (gateway, fetches, keyServer, keyContent)
        let transport = InProcessTransport { request in
            guard request.url.host.name == "keys.test" else { return try await gateway.respond(to: request) }
            fetches.change { $0 += 1 }
            var fields = keyServer.value.fields
            fields[.contentType] = keyContent.value.type
            let keys = gateway.keyring.value.configurations.encoded()
            try await Task.sleep(for: .milliseconds(2))
            return TransportResponse(
                status: keyServer.value.status, headerFields: fields, url: request.url,
                body: ResponseBody(bytes: Array(repeatElement(keys, count: keyContent.value.copies).joined())))
        }
        let loader = ObliviousLoader()
        let relay = try #require(URL(string: "https://relay.test/"))
        try loader.configure(
            userAgent: "The Application", relayURL: relay, trustManager: ApproovTrustManager(logger: .silent), transport: transport,
            time: clock
        ) { parts in
            HTTPKeyConfigurationClient(
                url: try TransportURL("https://keys.test/ohttp-keys"), userAgent: "The Application", transport: parts.transport,
                time: parts.time, policy: parts.policy)
        }
        return (loader, transport)
    }

    @Test("The relay gets the given user agent and none of the caller's headers")
    func request() async throws {
        let (loader, transport) = try loader()
        let (head, body) = try await loader.load(URLRequest("https://any.test/a?b", method: "POST", ["X-Own": "1"], body: "hi"))
        #expect(head.statusCode == 200 && String(decoding: body, as: UTF8.self) == "/a?b")
        #expect(transport.requests.map { $0.headerFields[.userAgent] } == ["The Application", "The Application"])
        #expect(transport.requests.last?.headerFields.count == 2)
        let inner = try #require(gateway.opened.value.first)
        #expect(inner.body == Data("hi".utf8) && inner.head.authority == "any.test")
    }

    @Test("Keys are fetched once while they are fresh, and a hundred concurrent requests share one fetch")
    func cached() async throws {
        let (loader, _) = try loader()
        try await withThrowingTaskGroup { group in
            for _ in 0..<100 { group.addTask { _ = try await loader.load(URLRequest("https://any.test/")) } }
            try await group.waitForAll()
        }
        #expect(fetches.value == 1)
        clock.advance(by: .seconds(59))
        try await loader.fetchKeyConfiguration()
        #expect(fetches.value == 1)
        clock.advance(by: .seconds(1))
        try await loader.fetchKeyConfiguration()
        #expect(fetches.value == 2)
    }

    @Test("Keys without a lifetime are fetched for every request")
    func uncached() async throws {
        keyServer.value = ([:], 200)
        let (loader, _) = try loader()
        for _ in 0..<3 { _ = try await loader.load(URLRequest("https://any.test/")) }
        #expect(fetches.value == 3)
    }

    @Test("A failed key fetch is not cached")
    func failedFetch() async throws {
        keyServer.value = ([.cacheControl: "max-age=60"], 500)
        let (loader, _) = try loader()
        #expect(await codeThrown(as: ApproovError.self) { try await loader.load(URLRequest("https://any.test/")) } == .networkingError)
        keyServer.value = ([.cacheControl: "max-age=60"], 200)
        _ = try await loader.load(URLRequest("https://any.test/"))
        #expect(fetches.value == 2)
    }

    @Test("A response with another content type, or of more than 64 KiB, is rejected as keys and not cached")
    func otherKeys() async throws {
        let (loader, transport) = try loader()
        let size = gateway.keyring.value.configurations.encoded().count
        let most = (64 << 10) / size
        for (type, copies) in [("text/html", 1), ("", 1), (OHTTPMediaType.keys, most + 1)] {
            keyContent.value = (type, copies)
            let error = await #expect(throws: ApproovError.self) { try await loader.load(URLRequest("https://any.test/")) }
            #expect(error?.code == (copies == 1 ? .networkingError : .responseTooLarge), "\(String(describing: error))")
        }
        #expect(!transport.requests.contains { $0.url.host.name == "relay.test" })
        keyContent.value = ("Application/OHTTP-keys; a=b", most)
        _ = try await loader.load(URLRequest("https://any.test/"))
        #expect(fetches.value == 4)
    }

    @Test("A stream body larger than the limit in memory is refused, and the error says what to use instead")
    func largeStream() async throws {
        let (loader, transport) = try loader()
        let folder = try TemporaryFolder()
        let file = URL(filePath: folder.path("body"))
        try Data().write(to: file)
        // A sparse file, which takes no space on the disk.
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: UInt64(ObliviousChannel.maximumWholeBytes) + 1)
        try handle.close()
        var request = URLRequest("https://any.test/", method: "POST")
        request.httpBodyStream = InputStream(url: file)
        let error = await #expect(throws: ApproovError.self) { try await loader.load(request) }
        #expect(error?.code == .bodyFailed && error?.message.contains("ApproovSession sends one of any size") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("After a refused key, the loader fetches keys past the cache and sends the request once more")
    func refusedKey() async throws {
        let (loader, transport) = try loader()
        _ = try await loader.load(URLRequest("https://any.test/"))
        gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        _ = try await loader.load(URLRequest("https://any.test/"))
        #expect(fetches.value == 2)
        let fetched = transport.requests.filter { $0.url.host.name == "keys.test" }
        #expect(fetched.map { $0.headerFields[.cacheControl] } == [nil, "no-cache"])
        #expect(transport.requests.count == 5)
    }

    @Test("If the gateway refuses its own keys, the request fails after two attempts")
    func alwaysRefused() async throws {
        gateway.script.change { script in script.fault = { TransportResponse(status: 401, url: $0.url) } }
        let (loader, transport) = try loader()
        #expect(await codeThrown(as: ApproovError.self) { try await loader.load(URLRequest("https://any.test/")) } == .obliviousError)
        #expect(transport.requests.count == 4)
    }

    @Test("A POST is sent again only if the keys have changed, because a relay may lie about a refused key")
    func sameKeys() async throws {
        let (loader, transport) = try loader()
        let gateway = gateway
        gateway.script.change { script in
            script.fault = { request in
                gateway.script.change { $0.fault = nil }
                _ = try await gateway.respond(to: request)
                return TransportResponse(status: 401, url: request.url)
            }
        }
        let post = URLRequest("https://any.test/", method: "POST", body: "x")
        #expect(await codeThrown(as: ApproovError.self) { try await loader.load(post) } == .obliviousError)
        #expect(gateway.opened.value.count == 1)
        #expect(transport.requests.filter { $0.url.host.name == "relay.test" }.count == 1)
        gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        clock.advance(by: .seconds(1))
        _ = try await loader.load(post)
        #expect(gateway.opened.value.count == 2)
    }

    @Test("A key fetch past the cache does not join an earlier one, whose late answer does not replace the newer keys")
    func invalidation() async throws {
        let (gateway, fetches) = (gateway, fetches)
        let old = Data(gateway.keyring.value.configurations.encoded())
        let gate = AsyncStream<Void>.makeStream()
        let gates = Shared(gate.stream)
        let transport = InProcessTransport { request in
            fetches.change { $0 += 1 }
            // The first fetch is answered before the keys change, and its answer arrives late.
            var bytes = old
            if request.headerFields[.cacheControl] == "no-cache" {
                bytes = Data(gateway.keyring.value.configurations.encoded())
            } else {
                for await _ in gates.value {}
            }
            return TransportResponse(
                status: 200, headerFields: [.contentType: OHTTPMediaType.keys, .cacheControl: "max-age=60"], url: request.url,
                body: ResponseBody(bytes: [UInt8](bytes)))
        }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system())
        let client = HTTPKeyConfigurationClient(
            url: try TransportURL("https://keys.test/ohttp-keys"), userAgent: "x", transport: transport, time: clock, policy: { policy })
        let first = Task { try await client.fetchKeyConfiguration(invalidatingCache: false) }
        #expect(await eventually { fetches.value == 1 })
        gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        let new = Data(gateway.keyring.value.configurations.encoded())
        let second = Task { try await client.fetchKeyConfiguration(invalidatingCache: true) }
        let isApart = await eventually { fetches.value == 2 }
        #expect(isApart)
        if isApart { _ = try await second.value }
        gate.continuation.finish()
        #expect(try await first.value == old)
        #expect(try await second.value == new)
        // The late answer does not replace the newer keys.
        #expect(try await client.fetchKeyConfiguration(invalidatingCache: false) == new)
        #expect(fetches.value == 2)
    }

    @Test("A response that is too large for a whole message comes in chunks, and so do later responses")
    func chunks() async throws {
        gateway.script.change { script in
            script.knowsChunks = true
            script.wholeLimit = 1 << 20
            script.host = { _ in BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: 2 << 20)) }
        }
        let (loader, transport) = try loader()
        for _ in 0..<2 { #expect(try await loader.load(URLRequest("https://any.test/")).1.count == 2 << 20) }
        let types = transport.requests.filter { $0.url.host.name == "relay.test" }.map { $0.headerFields[.contentType] }
        // One of the chunked messages is the question about chunk support.
        #expect(types == [OHTTPMediaType.request] + Array(repeating: OHTTPMediaType.chunkedRequest, count: 3))
    }

    @Test("A body from a stream is sent again with new keys")
    func streamedBody() async throws {
        let (loader, _) = try loader()
        _ = try await loader.load(URLRequest("https://any.test/"))
        gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        var request = URLRequest("https://any.test/", method: "POST")
        request.httpBodyStream = InputStream(data: Data("streamed".utf8))
        _ = try await loader.load(request)
        #expect(gateway.opened.value.last?.body == Data("streamed".utf8))
        #expect(fetches.value == 2)
    }

    // An assertion ends a debug build and does nothing in a release build.
    #if DEBUG
        @Test("A request before the configuration ends a debug build with a message that says what to do")
        func unconfigured() async throws {
            let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                try await ObliviousLoader().fetchKeyConfiguration()
            }
            #expect(String(decoding: result.standardErrorContent, as: UTF8.self).contains("call ApproovURLProtocol.configure first"))
        }
    #else
        @Test("In a release build, a request before the configuration fails with an error that says what to do")
        func unconfigured() async {
            let error = await #expect(throws: ApproovError.self) { try await ObliviousLoader().fetchKeyConfiguration() }
            #expect(error?.code == .configurationError)
            #expect(error?.message.contains("call ApproovURLProtocol.configure first") == true)
        }
    #endif

    @Test(
        "A malformed list of keys, or keys of unknown kinds only, is an error before anything is sent",
        arguments: [[0, 1], [0, 3, 1, 0, 0x30]])
    func badKeys(bytes: [UInt8]) async throws {
        struct Fixed: KeyConfigurationClient {
            let bytes: [UInt8]
            func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data { Data(bytes) }
        }
        let transport = InProcessTransport(status: 200)
        let loader = ObliviousLoader()
        try loader.configure(
            userAgent: "x", relayURL: #require(URL(string: "https://relay.test/")), trustManager: ApproovTrustManager(logger: .silent),
            transport: transport
        ) { _ in Fixed(bytes: bytes) }
        #expect(await codeThrown(as: ApproovError.self) { try await loader.load(URLRequest("https://any.test/")) } == .obliviousError)
        #expect(transport.requests.isEmpty)
    }

    @Test("The loader refuses a user agent with line breaks, and a remote relay without HTTPS")
    func badConfiguration() throws {
        struct None: KeyConfigurationClient {
            func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data { Data() }
        }
        for (agent, relay) in [("x", "http://relay.test/"), ("x\r\ny: z", "https://relay.test/"), ("x", "file:///relay")] {
            let url = try #require(URL(string: relay))
            #expect(
                code(as: ApproovError.self) {
                    try ObliviousLoader().configure(userAgent: agent, relayURL: url, trustManager: ApproovTrustManager(logger: .silent)) {
                        _ in
                        None()
                    }
                } == .configurationError)
        }
    }
}
