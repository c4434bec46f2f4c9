import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

import ApproovGateway

/// Requests that are encapsulated whole, on real sockets, from a client that only knows RFC 9458 and 9292.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct WholeExchangeTests {
    private static let echo: @Sendable (TestRequest) async throws -> TestResponse = { request in
        let body = try await request.body.collect()
        return TestResponse(headerFields: [.contentType: "text/plain"], body: Array("\(request.method) \(request.target) ".utf8) + body)
    }

    @Test("several Cookie fields inside reach an origin with HTTP/1.1 as one, at the place of the first", arguments: [false, true])
    func cookies(isChunked: Bool) async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url]) { (gateway) async throws in
            var head = try HTTPRequest.to(url)
            for (name, value) in [("Cookie", "a=1"), ("X-Other", "x"), ("cookie", "b=2; c=3"), ("Cookie", "d=4")] {
                head.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
            }
            let answer = isChunked ? try await gateway.askInChunks(head) : try await gateway.ask(head)
            #expect(answer.text == "ok")
        }
        let lines = String(decoding: target.received, as: UTF8.self).components(separatedBy: "\r\n")
        let cookies = lines.filter { $0.lowercased().hasPrefix("cookie:") }
        #expect(cookies.map { $0.lowercased() } == ["cookie: a=1; b=2; c=3; d=4"], "\(lines)")
        await target.stop()
    }

    @Test("a request reaches its target over pinned TLS, and the answer comes back sealed")
    func answers() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let target = try await TestHTTPServer.start(certificate: leaf, handler: Self.echo)
        try await RunningGateway.with(
            allow: [target.url], pins: ["localhost": [leaf.key.pin.description]], roots: root.pem
        ) { (gateway) async throws in
            let answer = try await gateway.ask(.to("\(target.url)/shapes?n=1", method: .post), body: "hello")
            #expect(answer.head.status == .ok)
            #expect(answer.head.headerFields[.contentType] == "text/plain")
            #expect(answer.text == "POST /shapes?n=1 hello")
            #expect(try await gateway.ask(.to(target.url)).text == "GET / ")
        }
        await target.stop()
    }

    @Test("every KEM that a key file can hold serves", arguments: KeyConfiguration.KEM.allCases)
    func mechanisms(kem: KeyConfiguration.KEM) async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        let clock = ManualClock()
        try await RunningGateway.with(allow: [target.url], time: clock) { (gateway) async throws in
            let key = try #require(try gateway.file.rotate(kem: kem, overlap: .seconds(60)).entries.first)
            await clock.passKeyWatch()
            #expect(try await gateway.keys().configurations.contains(key.key.configuration))
            #expect(try await gateway.ask(.to(target.url), using: key.key.configuration).text == "GET / ")
        }
        await target.stop()
    }

    @Test("a target with another key than its pin gets no byte, and the client an encapsulated 502")
    func pins() async throws {
        let root = try TestPKI.root()
        let target = try await TestHTTPServer.start(certificate: try TestPKI.leaf(hosts: ["localhost"], issuer: root), handler: Self.echo)
        try await RunningGateway.with(
            allow: [target.url], pins: ["localhost": [try TestKey().pin.description]], roots: root.pem
        ) { (gateway) async throws in
            #expect(try await gateway.ask(.to(target.url)).head.status == .badGateway)
            #expect(gateway.logs.lines.contains { $0.contains("trustRefused") })
        }
        #expect(target.counters.requests == 0)
        await target.stop()
    }

    @Test("a request that is sent again gets the answer to what cannot be opened, and its target hears of it once")
    func replay() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            for fields in [[:], [.date: HTTPDate.format(Date() + 2)]] as [HTTPFields] {
                let before = target.counters.requests
                let request = try BinaryHTTPRequest(head: .to(target.url, fields: fields)).encoded()
                let message = try key.encapsulate(request).message
                #expect(try await gateway.post(message).status == 200)
                for _ in 0..<3 { #expect(try await gateway.post(message).refusal == .unknownKey) }
                #expect(target.counters.requests == before + 1)
            }
        }
        await target.stop()
    }

    @Test("a request that is sent many times at once is served once")
    func concurrentReplay() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let message = try await gateway.keys().preferred().encapsulate(BinaryHTTPRequest(head: .to(target.url)).encoded()).message
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await gateway.post(message).status } }
                return try await group.reduce(into: [Int: Int]()) { $0[$1, default: 0] += 1 }
            }
            #expect(statuses == [200: 1, 400: 19])
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("a date that is too far off, malformed or from before the start is answered inside, with the gateway's own")
    func dates() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        let now = Date()
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            for date in [HTTPDate.format(now - 3_600), HTTPDate.format(now + 3_600), HTTPDate.format(now - 10), "yesterday", ""] {
                let answer = try await gateway.ask(.to(target.url, fields: [.date: date]))
                #expect(answer.head.status == .badRequest, "\(date)")
                #expect(answer.text.contains(OHTTPProblemType.date))
                let own = try #require(answer.head.headerFields[.date].flatMap { HTTPDate.parse($0) })
                #expect(abs(own.timeIntervalSince(now)) < 30)
            }
            var twice = HTTPFields()
            for _ in 0..<2 { twice.append(HTTPField(name: .date, value: HTTPDate.format(Date()))) }
            #expect(try await gateway.ask(.to(target.url, fields: twice)).head.status == .badRequest)
            #expect(target.counters.requests == 0)
            #expect(try await gateway.ask(.to(target.url, fields: [.date: HTTPDate.format(Date() + 5)])).head.status == .ok)
        }
        await target.stop()
    }

    @Test("where dates are required, a request without one is asked for it")
    func dateRequired() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        var replay = GatewayConfiguration.Replay()
        replay.requiresDate = true
        try await RunningGateway.with(allow: [target.url], replay: replay) { (gateway) async throws in
            #expect(try await gateway.ask(.to(target.url)).text.contains(OHTTPProblemType.date))
            #expect(try await gateway.ask(.to(target.url, fields: [.date: HTTPDate.format(Date() + 2)])).head.status == .ok)
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("what cannot be opened is answered in one way, whatever is wrong with it")
    func unopened() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            let message = [UInt8](try key.encapsulate(BinaryHTTPRequest(head: .to(target.url)).encoded()).message)
            // Up to and with `enc` and the tag at every length, then all that is left.
            for length in Array(0..<64) + [message.count - 1] {
                #expect(try await gateway.post(Array(message.prefix(length))).refusal == .unknownKey, "\(length)")
            }
            for index in message.indices {
                var changed = message
                changed[index] ^= 1
                #expect(try await gateway.post(changed).refusal == .unknownKey, "\(index)")
            }
            #expect(try await gateway.post(message + [0]).refusal == .unknownKey)
            let other = try GatewayKey(id: key.id).configuration
            #expect(try await gateway.post(other.encapsulate([1]).message).refusal == .unknownKey)
            // In the other form the first bytes of ciphertext are a length, which may be too large.
            let mistaken = try await gateway.post(message, type: OHTTPMediaType.chunkedRequest)
            #expect(mistaken.refusal == .unknownKey || mistaken.status == 413)
            #expect(try await gateway.ask(.to(target.url)).head.status == .ok)
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("an opened message that is no request is answered inside")
    func malformed() async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            let request = try BinaryHTTPRequest(head: .to("http://127.0.0.1:1/")).encoded()
            let messages: [[UInt8]] = [[], [9], request.dropLast(3) + [7, 7, 7], [1, 2, 3], request + [1], [0, 0xFF, 0xFF, 0xFF, 0xFF]]
            for message in messages {
                let sealed = try key.encapsulate(message)
                let answer = try await gateway.post(sealed.message)
                #expect(answer.status == 200)
                #expect(try BinaryHTTPResponse(decoding: sealed.response.open(answer.body)).head.status == .badRequest)
            }
        }
    }

    @Test("a HEAD with content is the client's mistake and no failure of its target")
    func headWithContent() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            for _ in 0..<3 {
                let answer = try await gateway.ask(.to(target.url, method: .head), body: "abc")
                #expect(answer.head.status == .badRequest)
            }
            #expect(try await gateway.ask(.to(target.url, method: .head)).head.status == .ok)
            #expect(!gateway.logs.lines.contains { $0.hasPrefix("warning") })
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("other media types, methods and paths are told so")
    func wrongDoor() async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"]) { (gateway) async throws in
            for type in ["text/plain", "message/ohttp-res", "message/bhttp"] {
                #expect(try await gateway.post([1], type: type).status == 415)
            }
            #expect(try await gateway.post([1], type: "Message/OHTTP-Req; x=y").refusal == .unknownKey)
            #expect(try await gateway.send(.none, method: .get).status == 405)
            #expect(try await gateway.send(.bytes([1]), path: "/ohttp-keys").status == 405)
            #expect(try await gateway.send(.bytes([1]), path: "/").status == 404)
            #expect(try await gateway.send(.none, path: "/health", method: .get).status == 200)
            let keys = try await gateway.send(.none, path: "/ohttp-keys", method: .get)
            #expect(keys.headerFields[.cacheControl] == "public, max-age=3600")
        }
    }

    /// RFC 9458, appendix A seals a request that is cut off after its path, and RFC 9292 allows both forms to any client.
    @Test("a whole request may leave out the empty sections at its end, and be of the form without lengths")
    func forms() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            let get = BinaryHTTPRequest(head: try .to("\(target.url)/cut"))
            let post = BinaryHTTPRequest(head: try .to("\(target.url)/open", method: .post), body: Data("hello".utf8))
            let known = try get.encoded()
            let cut = Array(known.dropLast(3))
            // Of fields, content and trailers, all empty, three lengths.
            #expect(known == cut + [0, 0, 0])
            for (message, text) in [
                (cut, "GET /cut "), (try get.encoded(framing: .indeterminateLength), "GET /cut "),
                (try post.encoded(framing: .indeterminateLength), "POST /open hello"),
            ] {
                let sealed = try key.encapsulate(message)
                let answer = try await gateway.post(sealed.message)
                #expect(answer.status == 200)
                let response = try BinaryHTTPResponse(decoding: sealed.response.open(answer.body))
                #expect(response.head.status == .ok && response.text == text)
            }
        }
        await target.stop()
    }

    @Test("a message over the limit is refused outside, a response over it inside, with what to do")
    func tooLarge() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(headerFields: [:], length: request.path == "/known" ? 200_000 : nil) { index in
                index < 2 ? [UInt8](repeating: 1, count: 100_000) : nil
            }
        }
        try await RunningGateway.with(allow: [target.url], limits: { $0.messageBytes = 150_000 }) { (gateway) async throws in
            #expect(try await gateway.post([UInt8](repeating: 0, count: 150_001)).status == 413)
            let (parts, source) = AsyncStream.makeStream(of: [UInt8].self)
            for _ in 0..<151 { source.yield([UInt8](repeating: 0, count: 1_000)) }
            source.finish()
            #expect(try await gateway.send(.stream(length: nil, RequestBodyStream(parts)), type: OHTTPMediaType.request).status == 413)
            for path in ["/known", "/unknown"] {
                let answer = try await gateway.ask(.to(target.url + path))
                #expect(answer.head.status == .badGateway)
                #expect(answer.text.contains("message/ohttp-chunked-req"))
            }
        }
        await target.stop()
    }

    @Test("a target that breaks off, is not there or speaks no HTTP is answered inside")
    func faults() async throws {
        let target = try await RawServer.start { connection in
            let head = try await connection.receiveHead()
            if head.contains("/half") { try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") }
            if head.contains("/garbage") { try await connection.send("garbage\r\n\r\n") }
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url, "http://127.0.0.1:1"]) { (gateway) async throws in
            for path in ["/half", "/garbage", "/close"] {
                #expect(try await gateway.ask(.to(url + path)).head.status == .badGateway, "\(path)")
            }
            let gone = try await gateway.ask(.to("http://127.0.0.1:1/secret-path"))
            #expect(gone.head.status == .badGateway)
            #expect(gone.text == #"{"status":502,"title":"The target gave no usable response"}"#)
            #expect(!gateway.logs.lines.contains { $0.contains("secret-path") })
        }
        await target.stop()
    }

    @Test("a target that hangs is 504 inside, encapsulated whole or in chunks")
    func hangs() async throws {
        let target = try await RawServer.start { await $0.waitForClose() }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url], limits: { $0.originIdleTimeout = .milliseconds(300) }) { (gateway) async throws in
            #expect(try await gateway.ask(.to(url)).head.status == .gatewayTimeout)
            #expect(try await gateway.askInChunks(.to(url)).head.status == .gatewayTimeout)
        }
        await target.stop()
    }

    @Test(
        "a target may take as long as a whole request may, or one in chunks, and not longer, however busy it is", arguments: [true, false])
    func requestTimeout(isWholeLimited: Bool) async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n")
            // Never idle, and at its end within any other limit.
            try await connection.drip(Array("X-Slow: ".utf8) + [UInt8](repeating: 0x61, count: 20), pause: .milliseconds(100))
            try await connection.send("\r\n\r\nok")
        }
        let url = "http://127.0.0.1:\(target.port)"
        let limits: (inout GatewayConfiguration.Limits) -> Void = {
            if isWholeLimited { $0.requestTimeout = .milliseconds(700) } else { $0.chunkedRequestTimeout = .milliseconds(700) }
        }
        try await RunningGateway.with(allow: [url], limits: limits) { (gateway) async throws in
            #expect(try await gateway.ask(.to(url)).head.status == (isWholeLimited ? .gatewayTimeout : .ok))
            #expect(try await gateway.askInChunks(.to(url)).head.status == (isWholeLimited ? .ok : .gatewayTimeout))
        }
        await target.stop()
    }

    @Test("fields about a connection stay behind in both directions, and nothing is added about the client")
    func fields() async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\n"
                    + "Proxy-Authenticate: Basic\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-End: 1\r\n\r\nok")
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url]) { (gateway) async throws in
            var fields = HTTPFields()
            for (name, value) in [
                ("connection", "x-other"), ("x-other", "1"), ("te", "trailers"), ("proxy-authorization", "Basic bWU="),
                ("expect", "100-continue"),
                ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("cookie", "c=3"), ("authorization", "Bearer t"), ("accept", "*/*"),
            ] {
                fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
            }
            let answer = try await gateway.ask(.to(url, fields: fields))
            let received = String(decoding: target.received, as: UTF8.self)
            let names = received.components(separatedBy: "\r\n").dropFirst().compactMap { $0.split(separator: ":").first?.lowercased() }
            #expect(Set(names) == ["host", "cookie", "authorization", "accept"])
            #expect(answer.head.headerFields[values: .setCookie] == ["a=1", "b=2"])
            #expect(answer.head.headerFields.map(\.name.canonicalName).sorted() == ["content-length", "set-cookie", "set-cookie", "x-end"])
        }
        await target.stop()
    }

    @Test("an answer's field values are the octets that its target sent, whole and in chunks")
    func octets() async throws {
        let latin: [UInt8] = [0xE9, 0x74, 0xE9]
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\nX-Latin: "
            try await connection.send(Array(head.utf8) + latin + Array("\r\n\r\nok".utf8))
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url]) { (gateway) async throws in
            let name = try #require(HTTPField.Name("X-Latin"))
            for answer in [try await gateway.ask(.to(url)), try await gateway.askInChunks(.to(url))] {
                let field = try #require(answer.head.headerFields.first { $0.name == name })
                #expect(field.withUnsafeBytesOfValue { Array($0) } == latin)
            }
        }
        await target.stop()
    }

    @Test("trailer fields of an answer come back, whole and in chunks, without those about a connection")
    func trailers() async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\nTrailer: X-Sum\r\n\r\n2\r\nok\r\n0\r\n"
                    + "X-Sum: 7\r\nX-Sum: 8\r\nContent-Length: 9\r\nKeep-Alive: 1\r\n\r\n")
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url]) { (gateway) async throws in
            let name = try #require(HTTPField.Name("X-Sum"))
            for answer in [try await gateway.ask(.to(url)), try await gateway.askInChunks(.to(url))] {
                #expect(answer.text == "ok")
                #expect(answer.trailers.map { "\($0.name.canonicalName): \($0.value)" } == ["x-sum: 7", "x-sum: 8"])
                #expect(!answer.head.headerFields.contains(name))
            }
        }
        await target.stop()
    }

    @Test("answers of nearly the same length are the same length for the relay")
    func padding() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(body: [UInt8](repeating: 1, count: Int(request.path.dropFirst()) ?? 0))
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            var sizes: Set<Int> = []
            for length in [9_000, 9_001, 9_010] {
                let request = try BinaryHTTPRequest(head: .to("\(target.url)/\(length)")).encoded()
                sizes.insert(try await gateway.post(key.encapsulate(request).message).body.count)
            }
            #expect(sizes.count == 1)
            // Small ones are all alike, the gateway's own among them.
            for url in ["\(target.url)/0", "\(target.url)/500", "http://127.0.0.1:1/"] {
                let request = try BinaryHTTPRequest(head: .to(url)).encoded()
                let answer = try await gateway.post(key.encapsulate(request).message)
                #expect(answer.body.count == 16 + 1_024 + 16)
            }
        }
        await target.stop()
    }

    @Test("no log line holds a client's address, a path, a header field or content, at any level")
    func logs() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            request.path == "/from" ? TestResponse(text: request.clientAddress ?? "") : try await Self.echo(request)
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            // As servers see it, so that its absence says something.
            let seen = try await gateway.send(.none, to: target.url, path: "/from", method: .get).body.collect(upTo: 100)
            #expect(String(decoding: seen, as: UTF8.self) == RunningGateway.clientAddress)
            let request = try HTTPRequest.to("\(target.url)/marker-path", fields: [.cookie: "marker-cookie"])
            _ = try await gateway.ask(request, body: "marker-body")
            _ = try await gateway.askInChunks(request, body: "marker-body")
            _ = try await gateway.ask(.to("http://127.0.0.1:1/marker-path"))
            _ = try await gateway.ask(.to(target.url, fields: [.date: "marker-date"]))
            _ = try await gateway.post([1, 2, 3])
            _ = try await gateway.post([1, 2, 3], type: "text/marker")
            // A client that goes away in the middle of its request.
            try RawClient(port: try #require(URL(string: gateway.url)?.port)).write(
                "POST /gateway HTTP/1.1\r\nHost: a\r\nContent-Type: message/ohttp-req\r\nContent-Length: 9\r\n\r\nmarker")
            await target.stop()
            _ = try await gateway.ask(request)
            _ = try await gateway.askInChunks(request)
            let text = gateway.logs.lines.joined(separator: "\n")
            #expect(text.contains("connectionFailed"))
            #expect(!text.contains("marker"))
            #expect(!text.contains("127.0.0.1:1/"))
            #expect(!text.contains(RunningGateway.clientAddress))
        }
    }
}
