import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

@testable import Approov

@Suite("A request over Oblivious HTTP in chunks")
struct ObliviousChannelChunkedTests {
    private func world(knowsChunks: Bool = true) throws -> World {
        let world = try World(hosts: ["api.test": .pinned.with { $0.oblivious = true }])
        world.gateway.script.change { $0.knowsChunks = knowsChunks }
        return world
    }

    private func contentTypes(_ world: World) -> [String?] { world.relayRequests.map { $0.headerFields[.contentType] } }

    @Test("A streamed response arrives in chunks, complete and in order")
    func download() async throws {
        let world = try world()
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
        world.gateway.script.change { script in
            script.host = { _ in
                BinaryHTTPResponse(
                    head: HTTPResponse(status: .ok, headerFields: [.eTag: "1"]), body: content, trailers: [.acceptRanges: "no"])
            }
        }
        let (file, response) = try await world.session().download(for: URLRequest("https://api.test/large"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(response.value(forHTTPHeaderField: "ETag") == "1")
        #expect(try Data(contentsOf: file) == content)
        #expect(contentTypes(world) == Array(repeating: OHTTPMediaType.chunkedRequest, count: 2))
    }

    @Test("The caller gets the first bytes before the host has finished")
    func early() async throws {
        let world = try world()
        let gate = AsyncStream<Void>.makeStream()
        let iterator = Shared(gate.stream)
        world.gateway.script.change { script in
            script.host = { _ in BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: 25_000)) }
            // Two steps pass: the head and the first part. The rest waits for the test.
            let passed = Shared(0)
            script.pause = {
                let count = passed.change {
                    $0 += 1
                    return $0
                }
                guard count > 1 else { return }
                for await _ in iterator.value { break }
            }
        }
        let (bytes, response) = try await world.session().bytes(for: URLRequest("https://api.test/"))
        #expect(response.statusCode == 200)
        var chunks = bytes.chunks.makeAsyncIterator()
        #expect(try await chunks.next()?.count == 10_000)
        gate.continuation.finish()
        var rest = 0
        while let chunk = try await chunks.next() { rest += chunk.count }
        #expect(rest == 15_000)
    }

    @Test("A file and a stream are sealed while they are sent, and a file's upload reports progress", arguments: [true, false])
    func upload(isFile: Bool) async throws {
        let world = try world()
        let folder = try TemporaryFolder()
        let content = Data((0..<200_001).map { UInt8(truncatingIfNeeded: $0) })
        let path = folder.path("body")
        try content.write(to: URL(filePath: path))
        world.gateway.script.change { script in
            script.host = { BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data("\($0.body == content)".utf8)) }
        }
        let session = try world.session()
        let data: Data
        if isFile {
            let progress = Shared<[TransferProgress]>([])
            data = try await session.upload(for: URLRequest("https://api.test/", method: "PUT"), fromFile: URL(filePath: path)) { value in
                progress.change { $0.append(value) }
            }.0
            #expect(progress.value.count > 1 && progress.value.last == TransferProgress(completed: content.count, total: content.count))
            #expect(world.gateway.opened.value.first?.head.headerFields[.contentLength] == "\(content.count)")
        } else {
            var request = URLRequest("https://api.test/", method: "POST")
            request.httpBodyStream = InputStream(fileAtPath: path)
            data = try await session.data(for: request).0
        }
        #expect(String(decoding: data, as: UTF8.self) == "true")
        // The first message asks the gateway whether it understands chunks.
        #expect(contentTypes(world) == Array(repeating: OHTTPMediaType.chunkedRequest, count: 2))
        // `Incremental` asks proxies to forward chunks as they arrive. No other field is added.
        let names = Set(world.relayRequests.map { $0.headerFields.map(\.name.canonicalName).sorted() })
        #expect(names == [["content-type", "incremental", "user-agent"]])
    }

    @Test("The host gets the Content-Length of a body when the length is known, and only then")
    func contentLength() async throws {
        let world = try world()
        let session = try world.session()
        _ = try await session.bytes(for: URLRequest("https://api.test/"))
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            _ = try await session.data(for: URLRequest("https://api.test/", method: method))
        }
        _ = try await session.data(for: URLRequest("https://api.test/", method: "POST", ["Content-Length": "7"], body: "hello"))
        for length in ["5", nil] {
            var request = URLRequest("https://api.test/", method: "POST")
            request.setValue(length, forHTTPHeaderField: "Content-Length")
            request.httpBodyStream = InputStream(data: Data("hello".utf8))
            _ = try await session.data(for: request)
        }
        let lengths = world.gateway.opened.value.map { $0.head.headerFields[.contentLength] }
        #expect(lengths == [nil, "0", "0", "0", nil, "5", "5", nil])
        #expect(Set(contentTypes(world)) == [OHTTPMediaType.chunkedRequest])
    }

    @Test("Upload progress counts the bytes of the body, not of the sealed message, whole or in chunks", arguments: [true, false])
    func uploadProgress(isChunked: Bool) async throws {
        let world = try world(knowsChunks: isChunked)
        world.gateway.script.change { script in
            script.fault = { request in
                // The transport's progress for the sealed message, which is longer than the body.
                for count in [100_000, 200_000, 210_000] { request.options.onUpload?(TransferProgress(completed: count, total: 210_000)) }
                return nil
            }
        }
        let session = try world.session()
        if isChunked { _ = try await session.bytes(for: URLRequest("https://api.test/")) }
        let progress = Shared<[TransferProgress]>([])
        _ = try await session.upload(for: URLRequest("https://api.test/", method: "POST"), from: Data(count: 200_001)) { value in
            progress.change { $0.append(value) }
        }
        #expect(progress.value == [100_000, 200_000, 200_001].map { TransferProgress(completed: $0, total: 200_001) })
        #expect(contentTypes(world).last == (isChunked ? OHTTPMediaType.chunkedRequest : OHTTPMediaType.request))
    }

    @Test("Download progress has a total if the host sends Content-Length", arguments: [true, false])
    func downloadProgress(isKnown: Bool) async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.host = { _ in
                BinaryHTTPResponse(
                    head: HTTPResponse(status: .ok, headerFields: isKnown ? [.contentLength: "25000"] : [:]), body: Data(count: 25_000))
            }
        }
        let progress = Shared<[TransferProgress]>([])
        let (file, _) = try await world.session().download(for: URLRequest("https://api.test/")) { value in
            progress.change { $0.append(value) }
        }
        try FileManager.default.removeItem(at: file)
        #expect(progress.value == [10_000, 20_000, 25_000].map { TransferProgress(completed: $0, total: isKnown ? 25_000 : nil) })
    }

    @Test(
        "A gateway without chunk support is asked once before a streamed response, and the client remembers the answer",
        arguments: [400, 415, 422])
    func fallback(status: Int) async throws {
        let world = try world(knowsChunks: false)
        world.gateway.script.change { $0.statusForUnknownForm = status }
        let session = try world.session()
        for _ in 0..<2 {
            let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/a"))
            var text: [UInt8] = []
            for try await byte in bytes { text.append(byte) }
            #expect(text == Array("/a".utf8))
        }
        #expect(contentTypes(world) == [OHTTPMediaType.chunkedRequest, OHTTPMediaType.request, OHTTPMediaType.request])
    }

    @Test(
        "The client asks about chunks once before a request that cannot be repeated, and falls back to whole messages",
        arguments: [400, 415, 422])
    func asked(status: Int) async throws {
        let folder = try TemporaryFolder()
        let file = URL(filePath: folder.path("body"))
        try Data("x".utf8).write(to: file)
        for kind in 0..<3 {
            let world = try world(knowsChunks: false)
            world.gateway.script.change { $0.statusForUnknownForm = status }
            let session = try world.session()
            let post = URLRequest("https://api.test/a", method: "POST")
            var streaming = URLRequest("https://api.test/a", method: "PUT")
            streaming.httpBodyStream = InputStream(data: Data("x".utf8))
            for _ in 0..<2 {
                switch kind {
                case 0: #expect(try await session.upload(for: post, fromFile: file).0 == Data("/a".utf8))
                case 1: #expect(try await session.upload(for: post, from: Data(count: 600 << 10)).0 == Data("/a".utf8))
                default:
                    streaming.httpBodyStream = InputStream(data: Data("x".utf8))
                    #expect(try await session.data(for: streaming).0 == Data("/a".utf8))
                }
            }
            #expect(contentTypes(world) == [OHTTPMediaType.chunkedRequest, OHTTPMediaType.request, OHTTPMediaType.request])
            #expect(world.gateway.opened.value.map(\.body.count) == (kind == 1 ? [600 << 10, 600 << 10] : [1, 1]))
        }
    }

    @Test("A POST with a streamed response goes in chunks if the gateway, asked once, supports them", arguments: [true, false])
    func streamedPOST(knowsChunks: Bool) async throws {
        let world = try world(knowsChunks: knowsChunks)
        let session = try world.session()
        for _ in 0..<2 {
            let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/events", method: "POST", body: "x"))
            for try await _ in bytes {}
        }
        #expect(world.gateway.opened.value.map(\.head.path) == ["/events", "/events"])
        let type = knowsChunks ? OHTTPMediaType.chunkedRequest : OHTTPMediaType.request
        #expect(contentTypes(world) == [OHTTPMediaType.chunkedRequest, type, type])
    }

    @Test("The client asks the gateway about chunks once; no host sees the question, and the relay cannot answer it")
    func askedAndKnown() async throws {
        let world = try world()
        let session = try world.session()
        let post = URLRequest("https://api.test/a", method: "POST")
        for _ in 0..<2 { _ = try await session.upload(for: post, from: Data(count: 600 << 10)) }
        #expect(contentTypes(world) == Array(repeating: OHTTPMediaType.chunkedRequest, count: 3))
        #expect(world.gateway.opened.value.count == 2)
        // To the relay, the question looks like any small request.
        _ = try await session.data(for: post)
        let lengths = world.gateway.received.value.map { chunkLengths(of: $0, after: 7 + 32) }
        #expect(lengths.first == [1_024 + 16] && lengths.last == lengths.first)
        // To the gateway, the question is not a broken request: its first byte, by which the gateway counts it, is no known framing.
        var opener = world.gateway.keyring.value.chunkedRequestOpener()
        opener.append(try #require(world.gateway.received.value.first))
        #expect(try opener.next() == nil && opener.finish().first == 0x3f)

        let lying = try self.world(knowsChunks: false)
        let gateway = lying.gateway
        gateway.script.change { script in
            script.fault = { request in
                guard request.headerFields[.contentType] == OHTTPMediaType.chunkedRequest else { return nil }
                return .bytes([UInt8](repeating: 0, count: 100), type: OHTTPMediaType.chunkedResponse, to: request)
            }
        }
        #expect(try await lying.session().upload(for: post, from: Data(count: 600 << 10)).0 == Data("/a".utf8))
        #expect(contentTypes(lying) == [OHTTPMediaType.chunkedRequest, OHTTPMediaType.request])
    }

    @Test("The question about chunks and the request share one time limit, however long the relay takes", arguments: [40, 60])
    func time(seconds: Int) async throws {
        let world = try world()
        let (gateway, clock) = (world.gateway, world.clock)
        gateway.script.change { script in
            script.fault = { _ in
                if gateway.received.value.isEmpty { clock.advance(by: .seconds(seconds)) }
                return nil
            }
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = 60
        // The token is cached, so that nothing else takes time.
        #expect(await world.service.fetchToken(for: try #require(URL(string: "https://api.test/"))).status == .success)
        let session = try world.session(configuration: configuration)
        let post = URLRequest("https://api.test/", method: "POST")
        if seconds < 60 {
            _ = try await session.upload(for: post, from: Data(count: 600 << 10))
            #expect(world.relayRequests.map(\.options.totalTimeout) == [.seconds(60), .seconds(60 - seconds)])
        } else {
            #expect(
                await codeThrown(as: ApproovError.self) { try await session.upload(for: post, from: Data(count: 600 << 10)) } == .timedOut)
            #expect(world.relayRequests.count == 1 && gateway.opened.value.isEmpty)
        }
    }

    @Test("A gateway that is unreachable or refuses the key is not treated as one without chunk support", arguments: [true, false])
    func notAsked(isUnreachable: Bool) async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.fault = { request in
                guard !isUnreachable else { throw TransportError(.connectionFailed, "away") }
                return TransportResponse(status: 401, url: request.url)
            }
        }
        let session = try world.session()
        let post = URLRequest("https://api.test/a", method: "POST")
        await #expect(throws: ApproovError.self) { try await session.upload(for: post, from: Data(count: 600 << 10)) }
        #expect(Set(contentTypes(world)) == [OHTTPMediaType.chunkedRequest])
        world.gateway.script.change { $0.fault = nil }
        _ = try await session.upload(for: post, from: Data(count: 600 << 10))
        #expect(world.gateway.opened.value.count == 1)
        #expect(contentTypes(world).last == OHTTPMediaType.chunkedRequest)
    }

    @Test(
        "A body that can be read only once survives a refused key only if the refusal came before the body was sent",
        arguments: [true, false])
    func keyRefusedToQuestion(isAsked: Bool) async throws {
        let world = try world()
        let session = try world.session()
        let url = try #require(URL(string: "https://api.test/x"))
        // The token is cached, so that the configuration can come only from the check after the refusal.
        #expect(await world.service.fetchToken(for: url).status == .success)
        // A gateway that has understood chunks is not asked again.
        if !isAsked { _ = try await session.upload(for: URLRequest("https://api.test/", method: "POST"), from: Data(count: 600 << 10)) }
        let before = (world.relayRequests.count, world.gateway.opened.value.count)
        world.gateway.keyring.value = try GatewayKeyring([GatewayKey(id: 2)])
        let configuration = try world.account.signed(
            world.account.configuration(
                version: 2, hosts: ["api.test": .pinned.with { $0.oblivious = true }], oblivious: world.gateway.settings))
        world.authority.script.change { $0.configurations = [configuration] }
        world.gateway.script.change { $0.host = { BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: $0.body) } }
        var request = URLRequest("https://api.test/x", method: "POST")
        request.httpBodyStream = InputStream(data: Data("once".utf8))
        if isAsked {
            #expect(try await session.data(for: request).0 == Data("once".utf8))
            // The refused question, the question for the new key, and the request.
            #expect(world.relayRequests.count == before.0 + 3)
            #expect(world.gateway.opened.value.count == before.1 + 1)
        } else {
            #expect(await codeThrown(as: ApproovError.self) { try await session.data(for: request) } == .obliviousError)
            #expect(world.relayRequests.count == before.0 + 1)
            #expect(world.gateway.opened.value.count == before.1)
        }
        #expect(world.service.configuration.version == 2)
    }

    @Test("A relay that answers 415 after the gateway has run a POST cannot make the client send it again")
    func dishonestRelay() async throws {
        let world = try world()
        let folder = try TemporaryFolder()
        try Data("x".utf8).write(to: URL(filePath: folder.path("body")))
        let gateway = world.gateway
        let fault: @Sendable (TransportRequest) async throws -> TransportResponse? = { request in
            gateway.script.change { $0.fault = nil }
            let response = try await gateway.respond(to: request)
            // Lets the question about chunks through.
            guard !gateway.opened.value.isEmpty else { return response }
            return TransportResponse(status: 415, url: request.url)
        }
        gateway.script.change { script in
            script.fault = { request in
                let response = try await fault(request)
                gateway.script.change { $0.fault = fault }
                return response
            }
        }
        #expect(
            await codeThrown(as: ApproovError.self) {
                try await world.session().upload(
                    for: URLRequest("https://api.test/a", method: "POST"), fromFile: URL(filePath: folder.path("body")))
            } == .obliviousError)
        #expect(gateway.opened.value.count == 1)
    }

    @Test(
        "If a gateway that understood chunks refuses them, one request fails without a repeat, and the next goes whole",
        arguments: [400, 415, 422])
    func understoodOnce(status: Int) async throws {
        let world = try world()
        let session = try world.session()
        _ = try await session.bytes(for: URLRequest("https://api.test/a"))
        world.gateway.script.change {
            $0.knowsChunks = false
            $0.statusForUnknownForm = status
        }
        #expect(
            await codeThrown(as: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/b")) } == .obliviousError)
        let post = URLRequest("https://api.test/c", method: "POST")
        #expect(try await session.data(for: post).0 == Data("/c".utf8))
        #expect(contentTypes(world) == Array(repeating: OHTTPMediaType.chunkedRequest, count: 3) + [OHTTPMediaType.request])
        // 415 means no chunk support. 400 and 422 may have been about that one request, so the client asks again.
        _ = try await session.upload(for: post, from: Data(count: 600 << 10))
        let question = status == 415 ? [] : [OHTTPMediaType.chunkedRequest]
        #expect(Array(contentTypes(world).dropFirst(4)) == question + [OHTTPMediaType.request])
    }

    @Test("If the configuration says that the gateway supports chunks, the error for a refusal names `-chunked off`")
    func saidToBeKnown() async throws {
        let gateway = try SmallGateway()
        let transport = InProcessTransport { try await gateway.respond(to: $0) }
        var settings = gateway.settings
        settings.chunked = true
        let route = try ObliviousRoute(settings)
        let session = try ApproovSession(service: nil, configuration: .over(transport, obliviousRoute: route))
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/b")) }
        #expect(error?.code == .obliviousError && error?.message.contains("-chunked off") == true)
        #expect(transport.requests.count == 1)
    }

    @Test(
        "An answer of 429, 502, 503 or 504 to the question about chunks fails the request, and 404 means no support",
        arguments: [429, 502, 503, 504, 404])
    func busy(status: Int) async throws {
        let world = try world()
        let session = try world.session()
        world.gateway.script.change { script in
            script.fault = { request in
                let isQuestion = request.headerFields[.contentType] == OHTTPMediaType.chunkedRequest
                return isQuestion ? TransportResponse(status: status, url: request.url) : nil
            }
        }
        let upload = { try await session.upload(for: URLRequest("https://api.test/a", method: "POST"), from: Data(count: 600 << 10)) }
        if status == 404 {
            // Some gateways without chunk support have no route for chunks.
            #expect(try await upload().0 == Data("/a".utf8))
        } else {
            let error = await #expect(throws: ApproovError.self) { try await upload() }
            #expect(error?.code == .obliviousError && error?.message.contains("answered \(status)") == true)
            #expect(contentTypes(world) == [OHTTPMediaType.chunkedRequest])
            world.gateway.script.change { $0.fault = nil }
            #expect(try await upload().0 == Data("/a".utf8))
            #expect(contentTypes(world).allSatisfy { $0 == OHTTPMediaType.chunkedRequest })
        }
    }

    @Test("Once the gateway is known to support chunks, every request goes in chunks")
    func learned() async throws {
        let world = try world()
        let session = try world.session()
        let post = URLRequest("https://api.test/a", method: "POST", body: "x")
        _ = try await session.data(for: post)
        _ = try await session.bytes(for: URLRequest("https://api.test/a"))
        _ = try await session.data(for: post)
        #expect(contentTypes(world) == [OHTTPMediaType.request] + Array(repeating: OHTTPMediaType.chunkedRequest, count: 3))
    }

    @Test("A response that is too large for a whole message is requested again in chunks for GET and HEAD", arguments: ["GET", "HEAD"])
    func tooLargeToBeWhole(method: String) async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.wholeLimit = 100_000
            script.host = { _ in BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: 200_000)) }
        }
        let (data, _) = try await world.session().data(for: URLRequest("https://api.test/a", method: method))
        #expect(data.count == 200_000)
        #expect(contentTypes(world) == [OHTTPMediaType.request, OHTTPMediaType.chunkedRequest, OHTTPMediaType.chunkedRequest])
    }

    @Test(
        "Other requests are not repeated if their response was too large, but the next request goes in chunks",
        arguments: ["PUT", "DELETE", "POST", "OPTIONS"])
    func tooLargeAndServed(method: String) async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.wholeLimit = 100_000
            script.host = { _ in BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: 200_000)) }
        }
        let session = try world.session()
        let (_, refused) = try await session.data(for: URLRequest("https://api.test/a", method: method))
        #expect(refused.statusCode == 502 && world.gateway.opened.value.count == 1)
        let (data, _) = try await session.data(for: URLRequest("https://api.test/a", method: method))
        #expect(data.count == 200_000)
        // A host can send the same answer, so the client asks the gateway first.
        #expect(contentTypes(world) == [OHTTPMediaType.request, OHTTPMediaType.chunkedRequest, OHTTPMediaType.chunkedRequest])
        #expect(world.gateway.opened.value.count == 2)
    }

    @Test("A request whose body and response are in memory goes whole if the gateway's chunk support is unknown")
    func whole() async throws {
        let world = try world()
        _ = try await world.session().data(for: URLRequest("https://api.test/"))
        #expect(contentTypes(world) == [OHTTPMediaType.request])
    }

    @Test("The configuration can say that the gateway always or never supports chunks", arguments: [true, false])
    func configured(isAlways: Bool) async throws {
        let gateway = try SmallGateway()
        var settings = gateway.settings
        settings.chunked = isAlways
        let route = try ObliviousRoute(settings)
        #expect(route.chunking == (isAlways ? .always : .never))
        gateway.script.change { $0.knowsChunks = true }
        let transport = InProcessTransport { try await gateway.respond(to: $0) }
        let session = try ApproovSession(service: nil, configuration: .over(transport, obliviousRoute: route))
        _ = try await session.data(for: URLRequest("https://api.test/"))
        _ = try await session.bytes(for: URLRequest("https://api.test/"))
        let type = isAlways ? OHTTPMediaType.chunkedRequest : OHTTPMediaType.request
        #expect(transport.requests.map { $0.headerFields[.contentType] } == [type, type])
    }

    @Test("A chunked response with a missing, cut, changed or repeated part fails, and fails again on the next read", arguments: 0..<5)
    func tampering(kind: Int) async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.host = { _ in BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: 40_000)) }
            script.way = { parts in
                AsyncThrowingStream { continuation in
                    Task {
                        var all: [[UInt8]] = []
                        for try await part in parts { all.append(part) }
                        switch kind {
                        case 0: all.removeLast()
                        case 1: all[all.count - 1].removeLast()
                        case 2: all[3][100] ^= 1
                        case 3: all.remove(at: 2)
                        default: all.insert(all[2], at: 2)
                        }
                        for part in all { continuation.yield(part) }
                        continuation.finish()
                    }
                }
            }
        }
        let (bytes, _) = try await world.session().bytes(for: URLRequest("https://api.test/"))
        var chunks = bytes.chunks.makeAsyncIterator()
        let error = await #expect(throws: ApproovError.self) { while try await chunks.next() != nil {} }
        #expect(error?.code == .obliviousError)
        // A truncated body must not look complete on the next read.
        let again = await #expect(throws: ApproovError.self) { try await chunks.next() }
        #expect(again?.code == .obliviousError)
    }

    @Test("The response to an earlier request is rejected")
    func otherResponse() async throws {
        let world = try world()
        let earlier = Shared<[[UInt8]]>([])
        world.gateway.script.change { script in
            script.way = { parts in
                AsyncThrowingStream { continuation in
                    Task {
                        var own: [[UInt8]] = []
                        for try await part in parts { own.append(part) }
                        if earlier.value.isEmpty { earlier.value = own }
                        for part in earlier.value { continuation.yield(part) }
                        continuation.finish()
                    }
                }
            }
        }
        let session = try world.session()
        _ = try await session.bytes(for: URLRequest("https://api.test/"))
        #expect(
            await codeThrown(as: ApproovError.self) { try await session.bytes(for: URLRequest("https://api.test/")) } == .obliviousError)
        #expect(world.relayRequests.count == 3)
    }

    @Test("A second concurrent reader of one body gets an error")
    func twoReaders() async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.way = { parts in
                AsyncThrowingStream { continuation in
                    Task {
                        for try await part in parts {
                            continuation.yield(part)
                            break
                        }
                    }
                }
            }
        }
        let (bytes, _) = try await world.session().bytes(for: URLRequest("https://api.test/"))
        let first = Task { for try await _ in bytes.chunks {} }
        let errors = Shared<[any Error]>([])
        let second = Task {
            // Either task may become the reader that waits.
            for try await _ in bytes.chunks {}
        }
        let watch: @Sendable (Task<Void, any Error>) -> Task<Void, Never> = { task in
            Task {
                if case .failure(let error) = await task.result { errors.change { $0.append(error) } }
            }
        }
        let watches = [watch(first), watch(second)]
        #expect(await eventually { errors.value.count == 1 })
        #expect(errors.value.first as? ApproovError == ApproovError(.obliviousError, ""))
        for task in [first, second] { task.cancel() }
        for task in watches { await task.value }
    }

    @Test("The caller's size limit applies to a response in chunks")
    func bounded() async throws {
        let world = try world()
        world.gateway.script.change { script in
            script.host = { _ in BinaryHTTPResponse(head: HTTPResponse(status: .ok), body: Data(count: 40_000)) }
        }
        var settings = world.gateway.settings
        settings.chunked = true
        let session = try world.session(obliviousRoute: ObliviousRoute(settings))
        #expect(
            await codeThrown(as: ApproovError.self) {
                try await session.data(for: URLRequest("https://else.test/"), limit: 39_999)
            } == .responseTooLarge)
        #expect(try await session.data(for: URLRequest("https://else.test/"), limit: 40_000).0.count == 40_000)
    }
}
