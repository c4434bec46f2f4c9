import ApproovTesting
import CertificatePinning
import Foundation
import Glibc
import HTTPClient
import HTTPTypes
import TestTags
import Testing

/// Covers the traps C16, C20 and C21; see `TrapTests`.
@Suite(.tags(.sockets, .processes, .slow), .timeLimit(.minutes(5))) struct CurlFaultTests {
    /// Starts a TLS server that follows the script, and a client that trusts it.
    private func withScript(
        _ script: @escaping @Sendable (RawConnection) async throws -> Void,
        body: (RawServer, TransportRequest, CurlTransport) async throws -> Void
    ) async throws {
        let root = try TestPKI.root()
        let server = try await RawServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root), script: script)
        let policy = TrustPolicy(rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: try TrustAnchors(pem: root.pem))
        let transport = try CurlTransport()
        try await body(server, TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: policy), transport)
        transport.shutdown()
        await server.stop()
    }

    @Test(
        "A response that is cut off, missing or badly chunked is a lost connection; garbage is malformed",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly half", TransportError.Code.connectionLost),
            ("HTTP/1.1 200 OK\r\nContent-Le", .connectionLost),
            ("\u{1}\u{2}\u{3} this is no HTTP\r\n\r\n", .malformedResponse),
            ("", .connectionLost),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnot a chunk", .connectionLost),
        ])
    func brokenResponses(bytes: String, code: TransportError.Code) async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send(bytes)
        } body: { _, request, transport in
            let error = await transportError { try await transport.send(request).body.collect(upTo: 1000) }
            #expect(error?.code == code, "\(String(describing: error))")
        }
    }

    @Test("A response with more header lines than can be kept is malformed, even if their bytes are allowed", arguments: [9_999, 70_000])
    func manyHeaderLines(count: Int) async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + String(repeating: "a:\r\n", count: count) + "\r\n")
            await connection.waitForClose()
        } body: { _, request, transport in
            var request = request
            request.options.maximumHeaderBytes = 1 << 20
            if count < 10_000 {
                let response = try await transport.send(request)
                #expect(response.headerFields.count == count + 1)
            } else {
                #expect(await transportError { try await transport.send(request) }?.code == .malformedResponse)
            }
        }
    }

    @Test(
        "A response that arrives while the request's body is being produced ends the request and is delivered",
        .timeLimit(.minutes(5)),
        arguments: [
            ["Content-Length: 4", "busy"], ["Transfer-Encoding: chunked", "4\r\nbusy\r\n0\r\n\r\n"],
            ["Connection: close\r\nContent-Length: 4", "busy"],
            ["Connection: close\r\nTransfer-Encoding: chunked", "4\r\nbusy\r\n0\r\n\r\n"],
            ["Connection: close", "busy"],
        ], [(isLate: false, isSilent: true), (true, true), (true, false)])
    func earlyRefusal(answer: [String], order: (isLate: Bool, isSilent: Bool)) async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 408 Request Timeout\r\n\(answer[0])\r\n\r\n")
            if order.isLate { try await Task.sleep(for: .milliseconds(50)) }
            try await connection.send(answer[1])
            // Without a length, the end of the connection ends the response.
            if answer[0] != "Connection: close" { await connection.waitForClose() }
        } body: { _, request, transport in
            // The body sends one part and then nothing, or it continues until the response arrives.
            let (parts, more) = AsyncStream.makeStream(of: [UInt8].self)
            more.yield([1, 2, 3])
            let producer = Task {
                while !order.isSilent {
                    more.yield([UInt8](repeating: 4, count: 1_000))
                    try await Task.sleep(for: .microseconds(100))
                }
            }
            var request = request
            request.method = .post
            request.body = .stream(length: nil, RequestBodyStream(parts))
            let response = try await transport.send(request)
            producer.cancel()
            #expect(response.status == 408)
            #expect(try await response.body.collect(upTo: 10) == Array("busy".utf8))
            withExtendedLifetime(more) {}
        }
    }

    @Test("A cut-off response is an error even while the request's body is still being produced", .timeLimit(.minutes(5)))
    func earlyRefusalCutOff() async throws {
        for answer in ["Content-Length: 9\r\n\r\nbusy", "Transfer-Encoding: chunked\r\n\r\n9\r\nbusy"] {
            try await withScript { connection in
                _ = try await connection.receiveHead()
                try await connection.send("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\(answer)")
            } body: { _, request, transport in
                let (parts, more) = AsyncStream.makeStream(of: [UInt8].self)
                more.yield([1, 2, 3])
                var request = request
                request.method = .post
                request.body = .stream(length: nil, RequestBodyStream(parts))
                let error = await transportError { try await transport.send(request).body.collect(upTo: 10) }
                #expect(error?.code == .connectionLost)
                withExtendedLifetime(more) {}
            }
        }
    }

    @Test(
        "The client sends the request's fields byte for byte and adds only Host and Content-Length",
        arguments: [RequestBody.none, .bytes([123, 125])])
    func fields(body: RequestBody) async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        } body: { server, request, transport in
            var request = request
            let name = try #require(HTTPField.Name("X-Latin"))
            request.headerFields.append(HTTPField(name: name, lenientValue: [0xE9, 0x74, 0xE9]))
            request.body = body
            request.options.decompresses = false
            #expect(try await transport.send(request).status == 200)
            #expect(server.received.firstRange(of: Array("X-Latin: ".utf8) + [0xE9, 0x74, 0xE9, 0x0D, 0x0A]) != nil)
            let head = String(decoding: server.received, as: UTF8.self).split(separator: "\r\n\r\n")[0]
            let names = head.split(separator: "\r\n").dropFirst().map { String($0.split(separator: ":")[0]) }
            let length = if case .none = body { [String]() } else { ["Content-Length"] }
            #expect(Set(names) == Set(["Host", "X-Latin"] + length))
        }
    }

    @Test("The client keeps the bytes of field values in a response's head and trailers")
    func responseFields() async throws {
        let latin: [UInt8] = [0xE9, 0x74, 0xE9]
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send(
                Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Latin: \t".utf8) + latin + Array(" \r\n\r\n0\r\nX-Latin: ".utf8)
                    + latin + Array("\r\n\r\n".utf8))
        } body: { _, request, transport in
            let response = try await transport.send(request)
            #expect(try await response.body.collect(upTo: 10).isEmpty)
            let name = try #require(HTTPField.Name("X-Latin"))
            for fields in [response.headerFields, response.body.trailerFields] {
                #expect(fields.filter { $0.name == name }.map { $0.withUnsafeBytesOfValue { Array($0) } } == [latin])
            }
        }
    }

    @Test("A response can be read to its end after the last reference to the transport is gone")
    func bodyWithoutTransport() async throws {
        let root = try TestPKI.root()
        let gate = Gate()
        let server = try await TestHTTPServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) { _ in
            TestResponse(length: nil) { index in
                // The server sends the rest once no other reference to the transport is left.
                if index == 1 { try await gate.wait() }
                return index < 10 ? [UInt8](repeating: 7, count: 1_000) : nil
            }
        }
        let policy = TrustPolicy(rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: try TrustAnchors(pem: root.pem))
        let request = TransportRequest(url: try TransportURL("https://localhost:\(server.port)/"), policy: policy)
        let response = try await CurlTransport().send(request)
        gate.open()
        #expect(try await response.body.collect(upTo: 1 << 20).count == 10_000)
        await server.stop()
    }

    @Test("The error for a proxy that refuses to connect mentions the proxy and its status code")
    func refusingProxy() async throws {
        let proxy = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        }
        let policy = TrustPolicy(
            rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        var request = TransportRequest(url: try TransportURL("https://host.test/"), policy: policy)
        request.options.proxy = ProxyConfiguration(kind: .http, host: try CanonicalHost("127.0.0.1"), port: proxy.port)
        let transport = try CurlTransport()
        let error = await transportError { try await transport.send(request) }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("proxy") == true && error?.message.contains("407") == true)
        transport.shutdown()
        await proxy.stop()
    }

    @Test("Creating a transport fails if its thread cannot be started")
    func noThread() async {
        await #expect(processExitsWith: .success) {
            // The first transport sets up libcurl. The limit then leaves no room for another thread's stack. Threads that ended, such as
            // idle ones of Dispatch, may have left some stacks for the next threads: glibc keeps at most 40 MiB. Transports that are kept
            // use these up.
            var kept = [try CurlTransport()]
            let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").first.flatMap { UInt($0) }
            var limit = rlimit(rlim_cur: try #require(pages) * 4_096 + (2 << 20), rlim_max: .max)
            setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            var code: TransportError.Code?
            while code == nil, kept.count < 32 { code = await transportError { kept.append(try CurlTransport()) }?.code }
            exit(code == .internalError ? 0 : 1)
        }
    }

    @Test("The client rejects an endless header section as too large")
    func endlessHeader() async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\n")
            for number in 0..<20_000 { try await connection.send("X-\(number): \(String(repeating: "y", count: 100))\r\n") }
        } body: { _, request, transport in
            #expect(await transportError { try await transport.send(request) }?.code == .headerTooLarge)
        }
    }

    @Test("A header line or section above libcurl's own limit fails as too large, not as out of memory")
    func longHeader() async throws {
        for (line, count) in [(1 << 20, 1), (1_000, 400)] {
            try await withScript { connection in
                _ = try await connection.receiveHead()
                try await connection.send("HTTP/1.1 302 Found\r\n")
                for _ in 0..<count { try await connection.send("Location: \(String(repeating: "y", count: line))\r\n") }
                try await connection.send("Content-Length: 0\r\n\r\n")
            } body: { _, request, transport in
                for limit in [65_536, 4 << 20] {
                    var request = request
                    request.options.maximumHeaderBytes = limit
                    let limited = request
                    let error = await transportError { try await transport.send(limited) }
                    #expect(error?.code == .headerTooLarge, "\(String(describing: error))")
                }
            }
        }
    }

    @Test("A timed-out request is safe to repeat if it is idempotent or none of it was sent")
    func repeatable() async throws {
        let root = try TestPKI.root()
        let server = try await RawServer.start(certificate: TestPKI.leaf(hosts: ["localhost"], issuer: root)) { connection in
            _ = try await connection.receiveHead()
            await connection.waitForClose()
        }
        let silent = try await RawServer.start { await $0.waitForClose() }
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try TrustAnchors(pem: root.pem))
        let transport = try CurlTransport()
        func failure(_ method: HTTPRequest.Method, port: Int, isIdempotent: Bool? = nil) async throws -> TransportError? {
            var request = TransportRequest(url: try TransportURL("https://localhost:\(port)/"), method: method, policy: policy)
            request.options.idleTimeout = .seconds(2)
            request.options.isIdempotent = isIdempotent
            let sent = request
            return await transportError { try await transport.send(sent) }
        }
        async let get = failure(.get, port: server.port)
        async let post = failure(.post, port: server.port)
        async let idempotent = failure(.post, port: server.port, isIdempotent: true)
        async let unsent = failure(.post, port: silent.port)
        let errors = try await [get, post, idempotent, unsent]
        #expect(errors.allSatisfy { $0?.code == .idleTimeout })
        #expect(errors.map { $0?.isSafeToRepeat } == [true, false, true, true])
        transport.shutdown()
        await server.stop()
        await silent.stop()
    }

    /// Starts a server that answers with content and trailer lines after it.
    private func withTrailers(_ lines: String, body: (TransportRequest, CurlTransport) async throws -> Void) async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Sum: head\r\n\r\n2\r\nok\r\n0\r\n\(lines)\r\n")
        } body: { _, request, transport in
            try await body(request, transport)
        }
    }

    @Test("Trailer fields are available once the body has been read", arguments: [("X-Sum: 7\r\nX-Sum:  8 \r\n", ["7", "8"]), ("", [])])
    func trailers(lines: String, expected: [String]) async throws {
        try await withTrailers(lines) { request, transport in
            let response = try await transport.send(request)
            #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
            let name = try #require(HTTPField.Name("X-Sum"))
            #expect(response.body.trailerFields.map(\.name) == expected.map { _ in name })
            #expect(response.body.trailerFields[values: name] == expected)
            #expect(response.headerFields[values: name] == ["head"])
        }
    }

    @Test("A malformed trailer section makes the response fail", arguments: ["X-Sum: 7\r\nno field\r\n", "HTTP/1.1 200 OK\r\n"])
    func malformedTrailers(lines: String) async throws {
        try await withTrailers(lines) { request, transport in
            #expect(await transportError { try await transport.send(request).body.collect(upTo: 10) } != nil)
        }
    }

    @Test("The client rejects an endless trailer section as too large")
    func endlessTrailers() async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
            for number in 0..<20_000 { try await connection.send("X-\(number): \(String(repeating: "y", count: 100))\r\n") }
        } body: { _, request, transport in
            #expect(await transportError { try await transport.send(request).body.collect(upTo: 10) }?.code == .headerTooLarge)
        }
    }

    @Test("The client skips an interim response")
    func interim() async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        } body: { _, request, transport in
            let response = try await transport.send(request)
            #expect(response.status == 200)
            #expect(response.headerFields[.init("Link")!] == nil)
            #expect(try await response.body.collect(upTo: 10) == Array("ok".utf8))
        }
    }

    @Test(
        "A field line that looks like a status line does not hide the lines before it",
        arguments: ["", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"])
    func hiddenHead(interim: String) async throws {
        for line in ["HTTP/1.1 307 x: y", "HTTP/1.1 200 OK: y", "HTTP/2: 401"] {
            try await withScript { connection in
                _ = try await connection.receiveHead()
                try await connection.send(
                    "\(interim)HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(line)\r\nLocation: https://evil.test/\r\n\r\nok")
            } body: { _, request, transport in
                #expect(await transportError { try await transport.send(request) }?.code == .malformedResponse)
            }
        }
    }

    @Test("A server that never answers causes the idle timeout, and one that sends slowly the total timeout")
    func timeouts() async throws {
        try await withScript { connection in
            await connection.waitForClose()
        } body: { _, request, transport in
            var request = request
            request.options.idleTimeout = .milliseconds(200)
            let idle = request
            #expect(await transportError { try await transport.send(idle) }?.code == .idleTimeout)
        }
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            try await connection.drip([UInt8](repeating: 0x79, count: 1000), pause: .milliseconds(20))
        } body: { _, request, transport in
            var request = request
            request.options.idleTimeout = .seconds(3_600)
            request.options.totalTimeout = .seconds(1)
            let total = request
            // On a busy machine the time may be over before the client is connected.
            let isOver = await eventually {
                await transportError { try await transport.send(total).body.collect(upTo: 1000) }?.code == .totalTimeout
            }
            #expect(isOver)
        }
    }

    @Test("A stalled handshake, a port at which no server listens and an unknown host fail with the matching error codes")
    func connecting() async throws {
        let silent = try await RawServer.start { connection in await connection.waitForClose() }
        let transport = try CurlTransport()
        let policy = TrustPolicy(
            rules: try HostMap([(HostPattern, TrustRule)]()), defaultAnchors: try TrustAnchors(pem: TestPKI.root().pem))
        var request = TransportRequest(url: try TransportURL("https://localhost:\(silent.port)/"), policy: policy)
        request.options.connectTimeout = .milliseconds(200)
        let connecting = request
        #expect(await transportError { try await transport.send(connecting) }?.code == .connectTimeout)
        await silent.stop()
        let port = try RefusingPort()
        let refused = TransportRequest(url: try TransportURL("https://127.0.0.1:\(port.number)/"), policy: policy)
        #expect(await transportError { try await transport.send(refused) }?.code == .connectionFailed)
        withExtendedLifetime(port) {}
        request.url = try TransportURL("https://no-such-host.invalid/")
        let unresolved = request
        let error = await transportError { try await transport.send(unresolved) }
        // If the machine's name server does not answer, the connect timeout comes first.
        #expect(error?.code == .hostUnresolved || error?.code == .connectTimeout, "\(String(describing: error))")
        transport.shutdown()
    }

    @Test("The client does not resend a POST that the server read but did not answer")
    func noResend() async throws {
        // The server answers the first request of a connection; it reads the second and closes.
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = try await connection.receiveHead()
        } body: { server, request, transport in
            for body in [RequestBody.bytes(Array("pay=100".utf8)), .none, .bytes([UInt8](repeating: 0x70, count: 50_000))] {
                _ = try await transport.send(request).body.collect(upTo: 10)
                var post = request
                post.method = .post
                post.body = body
                let sent = post
                #expect(await transportError { try await transport.send(sent) }?.code == .connectionLost)
            }
            let received = String(decoding: server.received, as: UTF8.self)
            #expect(received.components(separatedBy: "POST / ").count - 1 == 3)
        }
    }

    /// Trusts the first server that it judges, and refuses all later ones.
    private struct TrustingOnce: ServerTrustEvaluating {
        private let count = Shared(0)

        func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
            let number = count.change { count in
                count += 1
                return count
            }
            return number == 1 ? .trusted : .refused(TrustRefusal(.evaluatorFailed, trust: trust, detail: "not twice"))
        }
    }

    /// Has a server answer one request and read the next one without a response, so that libcurl connects again, which is refused.
    private func withSecondConnectionRefused(
        _ body: (RawServer, TransportRequest, CurlTransport) async throws -> Void
    ) async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = try await connection.receiveHead()
        } body: { server, request, transport in
            var request = request
            request.policy = TrustPolicy(
                rules: try HostMap([(try HostPattern("localhost"), TrustRule(evaluators: [TrustingOnce()]))]),
                defaultAnchors: request.policy.defaultAnchors)
            _ = try await transport.send(request).body.collect(upTo: 10)
            try await body(server, request, transport)
        }
    }

    @Test("A POST that the server read is a lost connection, not a refused server, when the next connection is refused")
    func refusedAfterSending() async throws {
        try await withSecondConnectionRefused { server, request, transport in
            var post = request
            post.method = .post
            post.body = .bytes(Array("pay=100".utf8))
            let sent = post
            let error = await transportError { try await transport.send(sent) }
            #expect(error?.code == .connectionLost && error?.isSafeToRepeat == false && error?.refusal == nil)
            #expect(String(decoding: server.received, as: UTF8.self).components(separatedBy: "POST / ").count - 1 == 1)
            // Nothing of the next request was sent.
            #expect(await transportError { try await transport.send(sent) }?.code == .trustRefused)
        }
    }

    @Test("If a GET was sent before the next connection is refused, the error does not say that nothing was sent")
    func refusedAfterSendingSafely() async throws {
        try await withSecondConnectionRefused { server, request, transport in
            let sent = request
            let error = await transportError { try await transport.send(sent) }
            #expect(error?.code == .trustRefused && error?.isSafeToRepeat == true && error?.refusal?.reason == .evaluatorFailed)
            #expect(error?.message.contains("the request had been sent on an earlier connection") == true)
            #expect(String(decoding: server.received, as: UTF8.self).components(separatedBy: "GET / ").count - 1 == 2)
            let next = await transportError { try await transport.send(sent) }
            #expect(next?.code == .trustRefused && next?.message.contains("nothing was sent") == true)
        }
    }

    @Test("The client resends a GET if the reused connection is dead")
    func resendIdempotent() async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = try? await connection.receiveHead()
        } body: { server, request, transport in
            _ = try await transport.send(request).body.collect(upTo: 10)
            let second = try await transport.send(request)
            #expect(try await second.body.collect(upTo: 10) == Array("ok".utf8))
            #expect(server.counters.connections == 2)
        }
    }

    @Test("Cancelling a request throws CancellationError and closes its connection")
    func cancellation() async throws {
        try await withScript { connection in
            await connection.waitForClose()
        } body: { server, request, transport in
            let task = Task { try await transport.send(request) }
            try #require(await eventually { server.counters.handshakes == 1 })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(await eventually { server.counters.open == 0 })
        }
    }

    @Test("Dropping an unread body ends its transfer")
    func droppedBody() async throws {
        try await withScript { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nsome")
            await connection.waitForClose()
        } body: { server, request, transport in
            do {
                let response = try await transport.send(request)
                #expect(response.status == 200)
            }
            #expect(await eventually { server.counters.open == 0 })
        }
    }

    @Test(
        "A thousand requests cancelled at random leak no descriptors and leave no request hanging", .timeLimit(.minutes(3)),
        arguments: ["1", "2"])
    func cancellationStorm(version: String) async throws {
        // In a separate process, where no other code opens or closes descriptors.
        let run = try await ChildProcess.run(ChildProcess.beside("cancellation-storm"), [version])
        #expect(run.exitCode == 0, "\(run.errors)")
        let counts = run.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(counts.count == 2, "\(run.output)")
        #expect(counts[1] <= counts[0] + 2, "\(counts[0]) descriptors before, \(counts[1]) after")
    }
}
