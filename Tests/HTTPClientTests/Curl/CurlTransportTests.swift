import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// Covers the trap C10; see `TrapTests`.
@Suite(.tags(.sockets, .slow)) struct CurlTransportTests {
    @Test(
        "The client sends a GET with its exact target and returns status, version, fields and body",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1])
    func get(versions: TestHTTPServer.Versions) async throws {
        let site = try await Site.start(versions: versions) { request in
            var fields = HTTPFields()
            fields.append(HTTPField(name: .setCookie, value: "a=1, x"))
            fields.append(HTTPField(name: .setCookie, value: "b=2"))
            return TestResponse(.ok, headerFields: fields, text: "you asked \(request.method) \(request.target)")
        }
        let (response, text) = try await site.get("/a/../b%20c?q=1&r", policy: site.policy())
        #expect(response.status == 200)
        #expect(response.version == (versions == .http1 ? "HTTP/1.1" : "HTTP/2"))
        #expect(text == "you asked GET /a/../b%20c?q=1&r")
        #expect(response.headerFields[values: .setCookie] == ["a=1, x", "b=2"])
        await site.stop()
    }

    @Test(
        "POST, PUT, PATCH and DELETE carry their body and their fields",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1], ["POST", "PUT", "PATCH", "DELETE"])
    func methods(versions: TestHTTPServer.Versions, method: String) async throws {
        let site = try await Site.start(versions: versions) { request in
            let body = try await request.body.collect(upTo: 1 << 20)
            let type = request.headerFields[.contentType] ?? "none"
            return TestResponse(text: "\(request.method) \(type) \(request.headerFields[.init("X-Empty")!] ?? "missing") \(body.count)")
        }
        for body in [RequestBody.none, .bytes([UInt8](repeating: 7, count: 10)), .bytes([UInt8](repeating: 7, count: 100_000))] {
            var request = TransportRequest(
                url: try site.url(), method: try #require(HTTPRequest.Method(method)), body: body, policy: try site.policy())
            request.headerFields[try #require(HTTPField.Name("X-Empty"))] = ""
            let response = try await site.transport.send(request)
            let text = String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
            let count = if case .bytes(let bytes) = body { bytes.count } else { 0 }
            #expect(text == "\(method) none  \(count)")
        }
        await site.stop()
    }

    @Test("The client does not wait for a body in the response to HEAD")
    func head() async throws {
        let site = try await Site.start { _ in TestResponse(.ok, headerFields: [.eTag: "x"]) }
        let response = try await site.transport.send(TransportRequest(url: try site.url(), method: .head, policy: try site.policy()))
        #expect(response.status == 200)
        #expect(try await response.body.collect(upTo: 10).isEmpty)
        await site.stop()
    }

    @Test("A response that has no content keeps Content-Encoding and Content-Length, which describe what GET would bring")
    func describedContent() async throws {
        for (method, status) in [(HTTPRequest.Method.head, "200 OK"), (.get, "304 Not Modified")] {
            let server = try await RawServer.start { connection in
                _ = try await connection.receiveHead()
                try await connection.send("HTTP/1.1 \(status)\r\nContent-Encoding: gzip\r\nContent-Length: 123456\r\n\r\n")
            }
            let transport = try CurlTransport()
            let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
            let url = try TransportURL("http://localhost:\(server.port)/")
            let response = try await transport.send(TransportRequest(url: url, method: method, policy: policy))
            #expect(response.headerFields[.contentEncoding] == "gzip" && response.headerFields[.contentLength] == "123456")
            #expect(try await response.body.collect(upTo: 10).isEmpty)
            transport.shutdown()
            await server.stop()
        }
    }

    /// Rules that are replaced after so many questions.
    final class AgingRules: TransferRules {
        private let questions: Shared<Int>

        init(after questions: Int) { self.questions = Shared(questions) }

        var areInForce: Bool {
            questions.change {
                $0 -= 1
                return $0 >= 0
            }
        }
    }

    @Test(
        "A request whose rules were replaced before it is sent is not sent, on a new connection or an open one",
        arguments: [TestHTTPServer.Versions.http1AndHTTP2, .http1], [0, 1])
    func replacedRules(versions: TestHTTPServer.Versions, sent: Int) async throws {
        let seen = Shared(0)
        let site = try await Site.start(versions: versions) { _ in
            seen.change { $0 += 1 }
            return TestResponse(.ok)
        }
        var request = TransportRequest(url: try site.url(), method: .post, body: .bytes([1]), policy: try site.policy())
        request.options.rules = AgingRules(after: sent)
        for _ in 0..<sent { _ = try await site.transport.send(request).body.collect(upTo: 10) }
        let error = await #expect(throws: TransportError.self) { try await site.transport.send(request) }
        #expect(error?.code == .rulesChanged && error?.isSafeToRepeat == true)
        #expect(seen.value == sent)
        await site.stop()
    }

    @Test("The client returns a redirect without following it")
    func redirect() async throws {
        let site = try await Site.start { _ in TestResponse(.found, headerFields: [.location: "https://localhost:1/"]) }
        let (response, _) = try await site.get(policy: site.policy())
        #expect(response.status == 302)
        #expect(site.server.counters.requests == 1)
        await site.stop()
    }

    @Test("Concurrent HTTP/2 requests share one connection, and successive HTTP/1.1 requests reuse theirs")
    func reuse() async throws {
        let (arrived, gate) = (Counter(), Gate())
        let site = try await Site.start { request in
            arrived.add()
            if arrived.value == 50 { gate.open() }
            try await gate.wait()
            return TestResponse(text: request.target)
        }
        let policy = try site.policy()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let (_, text) = try await site.get("/\(number)", policy: policy)
                    #expect(text == "/\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(site.server.counters.requests == 50)
        #expect(site.server.counters.connections == 1)
        await site.stop()

        let old = try await Site.start(versions: .http1)
        let oldPolicy = try old.policy()
        for _ in 0..<10 { _ = try await old.get(policy: oldPolicy) }
        #expect(old.server.counters.connections == 1)
        await old.stop()
    }

    @Test("A request over plain HTTP does not wait for the response to an earlier one, not even to the first")
    func plainHTTP() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let arrived = AsyncStream.makeStream(of: Void.self)
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            if request.path == "/slow" {
                arrived.continuation.yield()
                for await _ in gate.stream { break }
            }
            return TestResponse(text: request.path)
        }
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        // One policy for both requests, because only requests with the same policy share connections.
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system())
        func get(_ path: String, within timeout: Duration) async throws -> String {
            var options = TransferOptions()
            options.totalTimeout = timeout
            let response = try await transport.send(
                TransportRequest(url: try TransportURL(server.url + path), method: .get, policy: policy, options: options))
            return String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
        }
        async let slow = get("/slow", within: .seconds(60))
        for await _ in arrived.stream { break }
        let fast = try? await get("/fast", within: .seconds(10))
        #expect(fast == "/fast")
        gate.continuation.yield()
        #expect(try await slow == "/slow")
        await server.stop()
    }

    @Test("A busy connection past its maximum age takes no new requests, but completes those under way")
    func connectionAge() async throws {
        for (age, connections) in [(Duration.milliseconds(1), 2), (.seconds(3_600), 1)] {
            var configuration = CurlTransportConfiguration()
            configuration.maximumConnectionAge = age
            let gate = Gate()
            let site = try await Site.start(configuration: configuration) { request in
                if request.target == "/long" { try await gate.wait() }
                return TestResponse(text: request.target)
            }
            let policy = try site.policy()
            let long = Task { try await site.get("/long", policy: policy).1 }
            try #require(await eventually { site.server.counters.requests == 1 })
            // Longer than the short age, which the client measures on the same clock.
            try await Task.sleep(for: .milliseconds(3))
            #expect(try await site.get("/short", policy: policy).1 == "/short")
            #expect(site.server.counters.connections == connections)
            gate.open()
            #expect(try await long.value == "/long")
            await site.stop()
        }
    }

    @Test("A request comes from the local address that its options name, which cannot be a host name")
    func localAddress() async throws {
        let site = try await Site.start { request in TestResponse(text: request.clientAddress ?? "") }
        defer { site.transport.shutdown() }
        let policy = try site.policy()
        var seen: [String] = []
        for address in [nil, "127.0.0.7", "127.0.0.8", "127.0.0.7"] {
            var request = TransportRequest(url: try site.url(), policy: policy)
            request.options.localAddress = try address.map { try CanonicalHost($0) }
            let response = try await site.transport.send(request)
            seen.append(String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self))
        }
        #expect(seen == ["127.0.0.1", "127.0.0.7", "127.0.0.8", "127.0.0.7"])
        var named = TransportRequest(url: try site.url(), policy: policy)
        named.options.localAddress = try CanonicalHost("localhost")
        #expect(await transportError { try await site.transport.send(named) }?.code == .unsupported)
        await site.stop()
    }

    @Test("No GET is lost when a NIO server ends its connection after 200 stream resets")
    func streamResets() async throws {
        // Without a Content-Length, libcurl resets each of these streams.
        let site = try await Site.start { _ in TestResponse(length: nil) { index in index == 0 ? Array("hello".utf8) : nil } }
        let policy = try site.policy()
        for _ in 0..<20 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<32 {
                    group.addTask {
                        let (response, text) = try await site.get(policy: policy)
                        #expect(response.status == 200)
                        #expect(text == "hello")
                    }
                }
                try await group.waitForAll()
            }
        }
        await site.stop()
    }

    @Test("The client refuses fields that the transport sets, and a different Host, before it connects")
    func ownFields() async throws {
        let site = try await Site.start()
        for (name, value) in [("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Host", "other.test"), ("TE", "trailers")] {
            var request = TransportRequest(url: try site.url(), policy: try site.policy())
            request.headerFields[try #require(HTTPField.Name(name))] = value
            let error = await transportError { try await site.transport.send(request) }
            #expect(error?.code == .invalidHeader)
            #expect(error?.description.contains(value) == false)
        }
        #expect(site.server.counters.connections == 0)
        await site.stop()
    }

    @Test("A shutdown fails the pending request and every later one")
    func shutdown() async throws {
        let site = try await Site.start { _ in
            try await waitForCancellation()
        }
        let request = TransportRequest(url: try site.url(), policy: try site.policy())
        async let pending = transportError { try await site.transport.send(request) }
        try #require(await eventually { site.server.counters.requests == 1 })
        site.transport.shutdown()
        #expect(await pending?.code == .shutDown)
        #expect(await transportError { try await site.transport.send(request) }?.code == .shutDown)
        await site.stop()
    }

    @Test("The transport refuses requests above its maximum and completes the others")
    func tooMany() async throws {
        var configuration = CurlTransportConfiguration()
        configuration.maximumRequests = 2
        let gate = Gate()
        let site = try await Site.start(configuration: configuration) { _ in
            try await gate.wait()
            return TestResponse(text: "slow")
        }
        let policy = try site.policy()
        try await withThrowingTaskGroup(of: TransportError.Code?.self) { group in
            for _ in 0..<5 { group.addTask { await transportError { try await site.get(policy: policy) }?.code } }
            // The two accepted requests wait until the others have been refused.
            for _ in 0..<3 { #expect(try await group.next() == .tooManyRequests) }
            gate.open()
            for try await code in group { #expect(code == nil) }
        }
        _ = try await site.get(policy: policy)
        await site.stop()
    }

    @Test("A file whose length is not the one that the request's fields state is not sent")
    func changedFile() async throws {
        let site = try await Site.start()
        let folder = try TemporaryFolder()
        let path = try folder.write("12345", to: "upload")
        var request = TransportRequest(url: try site.url(), method: .put, body: .file(path: path), policy: try site.policy())
        request.options.fileLength = 5
        #expect(try await site.transport.send(request).status == 200)
        request.options.fileLength = 4
        let changed = request
        let error = await transportError { try await site.transport.send(changed) }
        #expect(error?.code == .requestBodyFailed && error?.message.contains("changed") == true)
        #expect(site.server.counters.requests == 1)
        await site.stop()
    }

    @Test("A GET request with an empty body states its length, and sets no content type")
    func emptyBody() async throws {
        let seen = Shared<[HTTPFields]>([])
        let site = try await Site.start { request in
            seen.change { $0.append(request.headerFields) }
            return TestResponse(text: "")
        }
        _ = try await site.transport.send(TransportRequest(url: try site.url(), body: .bytes([]), policy: try site.policy()))
        let fields = try #require(seen.value.first)
        #expect(fields[.contentLength] == "0" && !fields.contains(.contentType))
        await site.stop()
    }
}
