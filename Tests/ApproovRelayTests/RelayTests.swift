import ApproovRelay
import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// What a relay forwards and returns, over real sockets.
@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct RelayTests {
    private static let types = [
        ("message/ohttp-req", "message/ohttp-res"), ("message/ohttp-chunked-req", "message/ohttp-chunked-res"),
    ]

    /// The address of a client that a test looks for in the log, so not the usual 127.0.0.1.
    private static let clientAddress = "127.0.0.7"

    @Test("The relay forwards a message with its media type over pinned TLS, and returns the gateway's response", arguments: types)
    func forwards(request: String, response: String) async throws {
        let certificate = try GatewayCertificate()
        let incremental = try #require(HTTPField.Name("Incremental"))
        // Only chunked messages must be passed on incrementally.
        let isIncremental = request.contains("chunked") ? "?1" : nil
        let gateway = try await TestHTTPServer.start(certificate: certificate.leaf) { message in
            #expect(message.method == .post)
            #expect(message.headerFields[incremental] == isIncremental)
            #expect(message.target == "/gateway")
            #expect(message.headerFields[.contentType] == request)
            var fields: HTTPFields = [.contentType: response, .server: "secret", .setCookie: "a=b"]
            fields[try #require(HTTPField.Name("X-Gateway"))] = "secret"
            return TestResponse(headerFields: fields, body: Array(try await message.body.collect().reversed()))
        }
        try await RunningRelay.with(gateway: gateway.url, pins: [certificate.pin], roots: certificate.root.pem) { (relay) async throws in
            let answer = try await relay.post(Array(0...255), type: request)
            #expect(answer.status == 200)
            #expect(answer.body == (0...255).reversed())
            #expect(answer.headers[.contentType] == response)
            #expect(answer.headers[.cacheControl] == "no-store")
            let names = Set(answer.headers.map(\.name.canonicalName))
            #expect(answer.headers[incremental] == isIncremental)
            #expect(names.isSubset(of: ["content-type", "cache-control", "content-length", "transfer-encoding", "date", "incremental"]))
        }
        await gateway.stop()
    }

    @Test("The requests of two clients reach the gateway without any difference except their ciphertext")
    func anonymity() async throws {
        let gateway = try await RawServer.start { connection in
            let head = try await connection.receiveHead()
            // The content may arrive after the head, or with it.
            if head.hasSuffix("\r\n\r\n") { _ = await connection.receive() }
            try await connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: message/ohttp-res\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/gateway") { (relay) async throws in
            let start = "POST / HTTP/1.1\r\nHost: "
            let first = try RawClient(port: relay.port)
            first.write("\(start)a\r\nConnection: close\r\nContent-Type: message/ohttp-req\r\nContent-Length: 4\r\n\r\nAAAA")
            #expect(await first.readToEnd().text.hasSuffix("ok"))
            let second = try RawClient(port: relay.port)
            second.write(
                """
                \(start)b:80\r\nConnection: close\r\ncontent-type: Message/OHTTP-req; client=7\r\ncontent-length: 4\r
                Accept: text/x\r\nAccept-Language: nl\r\nUser-Agent: me\r\nCookie: id=7\r\nForwarded: for=192.0.2.7\r
                X-Forwarded-For: 192.0.2.7\r\nVia: 1.1 me\r\nAuthorization: Basic bWU=\r\nApproov-Token: t\r\nReferer: http://me/\r
                Date: Sat, 21 Nov 2026 00:00:00 GMT\r\nX-Id: 7\r\n\r\nBBBB
                """)
            #expect(await second.readToEnd().text.hasSuffix("ok"))
            let received = String(decoding: gateway.received, as: UTF8.self)
            let messages = received.components(separatedBy: "POST ").dropFirst()
            #expect(messages.count == 2)
            #expect(messages.first?.hasSuffix("\r\n\r\nAAAA") == true)
            #expect(messages.last == messages.first?.replacingOccurrences(of: "AAAA", with: "BBBB"))
            let lines = try #require(messages.first).components(separatedBy: "\r\n").dropFirst()
            let names = lines.compactMap { $0.split(separator: ":").first }
            #expect(Set(names).isSubset(of: ["Host", "Accept", "content-type", "Content-Type", "Content-Length", "AAAA"]))
        }
        await gateway.stop()
    }

    @Test("The relay rejects every request that is not an encapsulated one, and sends none of them to the gateway")
    func refusals() async throws {
        let gateway = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse() }
        try await RunningRelay.with(gateway: gateway.url) { (relay) async throws in
            for type in ["text/plain", "message/ohttp-res", "application/json", "message/ohttp-req, message/ohttp-req", ""] {
                #expect(try await relay.post(type: type).status == 415)
            }
            let get = try await relay.send(.none, method: .get)
            #expect(get.status == 405)
            #expect(get.headerFields[.allow] == "POST")
            #expect(try await relay.send(.bytes([1]), method: .put).status == 405)
            #expect(try await relay.send(.bytes([1]), path: "/gateway").status == 404)
            #expect(try await relay.send(.none, path: "/health", method: .get).status == 200)
        }
        #expect(gateway.counters.requests == 0)
        await gateway.stop()
    }

    @Test("The answers to HEAD have no content, so that the next answer on the connection begins in its place")
    func head() async throws {
        // No gateway listens at this address, and none is asked.
        try await RunningRelay.with(gateway: "http://127.0.0.1:1") { relay in
            let client = try RawClient(port: relay.port)
            client.write("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\nHEAD /x HTTP/1.1\r\nHost: x\r\n\r\n")
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let parts = await client.readToEnd().text.split(separator: "\r\n\r\n")
            #expect(parts.map { $0.prefix(12) } == ["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200", #"{"status":"o"#])
        }
    }

    @Test("A message over its limit is answered 413, whether or not its length is announced", arguments: types)
    func tooLarge(request: String, response: String) async throws {
        let isWhole = request == "message/ohttp-req"
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            _ = try await message.body.collect()
            return TestResponse(headerFields: [.contentType: response])
        }
        let limits = RelayConfiguration.Limits.quick {
            if isWhole { $0.messageBytes = 100_000 } else { $0.chunkedMessageBytes = 100_000 }
        }
        try await RunningRelay.with(gateway: gateway.url, limits: limits) { (relay) async throws in
            #expect(try await relay.post([UInt8](repeating: 0, count: 100_000), type: request).status == 200)
            #expect(try await relay.post([UInt8](repeating: 0, count: 100_001), type: request).status == 413)
            let (parts, source) = AsyncStream.makeStream(of: [UInt8].self)
            for _ in 0..<101 { source.yield([UInt8](repeating: 0, count: 1_000)) }
            source.finish()
            #expect(try await relay.send(.stream(length: nil, RequestBodyStream(parts)), type: request).status == 413)
            #expect(try await relay.post(type: request).status == 200)
        }
        await gateway.stop()
    }

    @Test("Both directions stream: a chunked response begins while its request still continues")
    func streams() async throws {
        let certificate = try GatewayCertificate()
        let gateway = try await TestHTTPServer.start(certificate: certificate.leaf) { message in
            let iterator = IteratorBox(message.body)
            return TestResponse(headerFields: [.contentType: "message/ohttp-chunked-res"], length: nil) { _ in try await iterator.next() }
        }
        try await RunningRelay.with(gateway: gateway.url, roots: certificate.root.pem) { (relay) async throws in
            let (parts, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield([1, 2, 3])
            let response = try await relay.send(.stream(length: nil, RequestBodyStream(parts)), type: "message/ohttp-chunked-req")
            var answer = response.body.makeAsyncIterator()
            #expect(try await answer.next() == [1, 2, 3])
            source.yield([4, 5])
            #expect(try await answer.next() == [4, 5])
            source.finish()
            #expect(try await answer.next() == nil)
        }
        await gateway.stop()
    }

    @Test("The relay stops reading a response from the gateway while the client does not read it")
    func backPressure() async throws {
        let sent = Shared(0)
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            _ = try await message.body.collect()
            return TestResponse(headerFields: [.contentType: "message/ohttp-chunked-res"], length: nil) { index in
                guard index < 1_024 else { return nil }
                // Not faster than the event loop writes, so that `sent` does not count parts that still wait for the socket.
                try await Task.sleep(for: .milliseconds(1))
                sent.change { $0 += 1 }
                return [UInt8](repeating: 7, count: 65_536)
            }
        }
        try await RunningRelay.with(gateway: gateway.url) { (relay) async throws in
            let response = try await relay.send(.bytes([1]), type: "message/ohttp-chunked-req")
            var before = -1
            while sent.value != before {
                before = sent.value
                // These requests give the gateway time to send more.
                for _ in 0..<50 { #expect(try await relay.send(.none, path: "/health", method: .get).status == 200) }
            }
            // The whole response is 64 MiB; the sockets' and the relay's buffers hold a few MiB of it.
            #expect(before < 768)
            var count = 0
            for try await part in response.body { count += part.count }
            #expect(count == 1_024 * 65_536)
        }
        await gateway.stop()
    }

    @Test("Requests over the limit are answered 503, and those within it are answered 200")
    func tooMany() async throws {
        let gate = Gate()
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            _ = try await message.body.collect()
            try await gate.wait()
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"])
        }
        try await RunningRelay.with(gateway: gateway.url, limits: .quick { $0.requests = 4 }) { (relay) async throws in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 { group.addTask { try await relay.post().status } }
                // The four admitted requests wait at the gate until the other two are rejected.
                for _ in 0..<2 { #expect(try await group.next() == 503) }
                gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == [200, 200, 200, 200])
        }
        await gateway.stop()
    }

    @Test("No log line contains a header field or content, and only debug lines contain a client's address")
    func logs() async throws {
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let bytes = try await message.body.collect()
            guard bytes == Array("good-marker".utf8) else { return TestResponse(.badGateway) }
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"], body: Array("answer-marker".utf8))
        }
        try await RunningRelay.with(gateway: gateway.url) { (relay) async throws in
            let answer = try await relay.send(.bytes(Array("good-marker".utf8)), from: Self.clientAddress)
            #expect(try await answer.body.collect(upTo: 100).count == 13)
            let client = try RawClient(port: relay.port)
            client.write(
                "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nUser-Agent: marker-agent\r\nContent-Type: message/ohttp-req\r\n"
                    + "Content-Length: 14\r\n\r\nmarker-content")
            _ = await client.readToEnd()
            await gateway.stop()
            #expect(try await relay.send(.bytes([1]), from: Self.clientAddress).status == 502)
            let text = relay.logs.lines.joined(separator: "\n")
            #expect(text.contains("no usable response"))
            #expect(!text.contains("marker"))
            #expect(!text.contains("\(client.port)"))
            #expect(relay.logs.lines.contains { $0.hasPrefix("debug forwarded") && $0.contains(Self.clientAddress) })
            #expect(!relay.logs.lines.contains { !$0.hasPrefix("debug") && $0.contains(Self.clientAddress) })
        }
    }
}

/// Lets consecutive consumers advance one sequence.
private actor IteratorBox {
    private let pull: @Sendable () async throws -> [UInt8]?

    init(_ body: TestRequestBody) {
        let (stream, source) = AsyncThrowingStream.makeStream(of: [UInt8].self)
        Task {
            do {
                for try await part in body { source.yield(part) }
                source.finish()
            } catch {
                source.finish(throwing: error)
            }
        }
        pull = {
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
    }

    func next() async throws -> [UInt8]? { try await pull() }
}
