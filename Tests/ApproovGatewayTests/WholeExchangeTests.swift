import ApproovBase
import ApproovGateway
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

/// Requests that are encapsulated whole, over real sockets, from a client that implements only RFC 9458 and RFC 9292.
@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct WholeExchangeTests {
    private static let echo: @Sendable (TestRequest) async throws -> TestResponse = { request in
        let body = try await request.body.collect()
        return TestResponse(headerFields: [.contentType: "text/plain"], body: Array("\(request.method) \(request.target) ".utf8) + body)
    }

    @Test("Several Cookie fields of a request reach an HTTP/1.1 origin as one field", arguments: [false, true])
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

    @Test("A request reaches its target over pinned TLS, and the client gets the encapsulated response")
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

    @Test("The gateway serves requests for every KEM that a key file can hold", arguments: KeyConfiguration.KEM.allCases)
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

    @Test("A target whose key is not pinned receives no request, and the client gets an encapsulated 502")
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

    @Test("A replayed request is answered like one that cannot be opened, and its target receives it only once")
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

    @Test("A request that is sent 20 times at once is served once")
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

    @Test("A date far off, malformed or before the start gets an encapsulated 400 with the gateway's own date")
    func dates() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        let now = Date()
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            for date in [HTTPDate.format(now - 3_600), HTTPDate.format(now + 3_600), HTTPDate.format(now - 10), "yesterday", ""] {
                let answer = try await gateway.ask(.to(target.url, fields: [.date: date]))
                #expect(answer.head.status == .badRequest, "\(date)")
                #expect(answer.text.contains(OHTTPProblemType.date))
                #expect(answer.text.hasSuffix(#","window":60}"#), "\(answer.text)")
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

    @Test("When dates are required, the gateway rejects an undated request and asks for a date")
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

    @Test("Every whole message that cannot be opened gets the same response, whatever its flaw")
    func unopened() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            let message = [UInt8](try key.encapsulate(BinaryHTTPRequest(head: .to(target.url)).encoded()).message)
            // Every length up to the end of `enc` and the tag, and the whole message less one byte.
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
            // Read as a chunked message, the first bytes of ciphertext are a length, which may be too large.
            let mistaken = try await gateway.post(message, type: OHTTPMediaType.chunkedRequest)
            #expect(mistaken.refusal == .unknownKey || mistaken.status == 413)
            #expect(try await gateway.ask(.to(target.url)).head.status == .ok)
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("A message that opens but is not a request gets an encapsulated 400")
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

    @Test("A HEAD request with content gets 400, does not reach its target and causes no warning")
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

    @Test("A wrong media type gets 415, a wrong method 405 and a wrong path 404")
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

    /// RFC 9458, appendix A encapsulates a request that ends after its path, and RFC 9292 allows clients both forms.
    @Test("A whole request may omit the empty sections at its end, and may use the indeterminate-length form")
    func forms() async throws {
        let target = try await TestHTTPServer.start(certificate: nil, handler: Self.echo)
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            let get = BinaryHTTPRequest(head: try .to("\(target.url)/cut"))
            let post = BinaryHTTPRequest(head: try .to("\(target.url)/open", method: .post), body: Data("hello".utf8))
            let known = try get.encoded()
            let cut = Array(known.dropLast(3))
            // The three lengths of the fields, the content and the trailers, which are all empty.
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

    @Test(
        "The 413 for an encapsulated request names the part that is too large, and what to do",
        arguments: ["head", "fields", "count", "padding"], [false, true])
    func partTooLarge(part: String, isChunked: Bool) async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"], limits: { $0.messageBytes = 4 << 20 }) { (gateway) async throws in
            var head = try HTTPRequest.to("http://127.0.0.1:1")
            let named: String
            switch part {
            case "head":
                head.path = "/" + String(repeating: "a", count: 16 * 1024)
                named = "method, scheme, authority and path"
            case "fields":
                head.headerFields[.userAgent] = String(repeating: "a", count: 64 * 1024)
                named = "a field section"
            case "count":
                for _ in 0..<1_001 { head.headerFields.append(HTTPField(name: .accept, value: "a")) }
                named = "fieldCount"
            default: named = "the padding"
            }
            var request = try BinaryHTTPRequest(head: head).encoded()
            // The padding may be 1 MiB longer than the message.
            if part == "padding" { request += [UInt8](repeating: 0, count: request.count + 1 << 20 + 1) }
            let answer: BinaryHTTPResponse
            if isChunked {
                let sealed = try await gateway.keys().preferred().chunkedRequest()
                var sealer = sealed.sealer
                var message: [UInt8] = []
                for start in stride(from: 0, to: request.count, by: 16_384) {
                    message += try sealer.seal(request[start..<min(start + 16_384, request.count)])
                }
                message += try sealer.finish()
                let response = try await gateway.send(.bytes(message), type: OHTTPMediaType.chunkedRequest)
                answer = try await ChunkedExchangeTests.opened(response, sealed.response)
            } else {
                let sealed = try await gateway.keys().preferred().encapsulate(request)
                let response = try await gateway.post(sealed.message)
                answer = try BinaryHTTPResponse(decoding: try sealed.response.open(response.body))
            }
            #expect(answer.head.status == .contentTooLarge)
            #expect(answer.text.contains(named) && answer.text.contains("Send less in that part"), "\(answer.text)")
        }
    }

    @Test("A whole request over the limit gets 413, and a response over it an encapsulated 502 that names the remedy")
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

    @Test("A target that breaks off, is not reachable or sends no HTTP leads to an encapsulated 502")
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

    @Test("A target that hangs leads to an encapsulated 504, for whole and chunked requests")
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
        "Whole and chunked requests have separate time limits, which end even a response that is never idle", arguments: [true, false])
    func requestTimeout(isWholeLimited: Bool) async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n")
            // Never idle, and complete within every other limit.
            try await connection.drip(Array("X-Slow: ".utf8) + [UInt8](repeating: 0x61, count: 20), pause: .milliseconds(100))
            try await connection.send("\r\n\r\nok")
        }
        let url = "http://127.0.0.1:\(target.port)"
        let limits: (inout GatewayConfiguration.Limits) -> Void = {
            if isWholeLimited { $0.requestTimeout = .milliseconds(700) } else { $0.chunkedRequestTimeout = .milliseconds(700) }
        }
        try await RunningGateway.with(allow: [url], limits: limits) { (gateway) async throws in
            // On a very slow machine the message itself may not arrive in time, which gets 408. Then the test tries again.
            var status = HTTPResponse.Status.requestTimeout
            let isAnswered = try await eventually {
                do {
                    status = try await gateway.ask(.to(url)).head.status
                    return true
                } catch let refusal as GatewayRefusal where refusal.status == 408 {
                    return false
                }
            }
            #expect(isAnswered && status == (isWholeLimited ? .gatewayTimeout : .ok))
            #expect(try await gateway.askInChunks(.to(url)).head.status == (isWholeLimited ? .ok : .gatewayTimeout))
        }
        await target.stop()
    }

    @Test("The gateway removes connection fields in both directions, and adds no field about the client")
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

    @Test("Field values reach the client as the octets that the target sent, in whole and chunked responses")
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

    @Test("Trailer fields reach the client in whole and chunked responses, except fields about the connection")
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

    @Test("Responses of nearly the same length, and all small ones, have the same encapsulated length")
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
            // All small responses have one length, including the gateway's own.
            for url in ["\(target.url)/0", "\(target.url)/500", "http://127.0.0.1:1/"] {
                let request = try BinaryHTTPRequest(head: .to(url)).encoded()
                let answer = try await gateway.post(key.encapsulate(request).message)
                #expect(answer.body.count == 16 + 1_024 + 16)
            }
        }
        await target.stop()
    }

    @Test("No log line of any level contains a client's address, a path, a header field or content")
    func logs() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            request.path == "/from" ? TestResponse(text: request.clientAddress ?? "") : try await Self.echo(request)
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            // Servers do see this address, so its absence from the log is significant.
            let seen = try await gateway.send(.none, to: target.url, path: "/from", method: .get).body.collect(upTo: 100)
            #expect(String(decoding: seen, as: UTF8.self) == RunningGateway.clientAddress)
            let request = try HTTPRequest.to("\(target.url)/marker-path", fields: [.cookie: "marker-cookie"])
            _ = try await gateway.ask(request, body: "marker-body")
            _ = try await gateway.askInChunks(request, body: "marker-body")
            _ = try await gateway.ask(.to("http://127.0.0.1:1/marker-path"))
            _ = try await gateway.ask(.to(target.url, fields: [.date: "marker-date"]))
            _ = try await gateway.post([1, 2, 3])
            _ = try await gateway.post([1, 2, 3], type: "text/marker")
            // A client that disconnects in the middle of its request.
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
