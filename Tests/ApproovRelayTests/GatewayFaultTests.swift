import ApproovRelay
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import MetricsTestKit
import Synchronization
import TestTags
import Testing

/// What a relay does when its gateway misbehaves.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct GatewayFaultTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: message/ohttp-res\r\n"
    private static let request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: message/ohttp-req\r\nContent-Length: 5\r\n\r\nhello"

    /// The status that a client gets when the gateway runs the script.
    private func status(
        limits: RelayConfiguration.Limits = .quick(), _ script: @escaping @Sendable (RawConnection) async throws -> Void
    ) async throws -> Int {
        let gateway = try await RawServer.start(script: script)
        let status = Mutex(0)
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/", limits: limits) { (relay) async throws in
            let answer = try await relay.post().status
            status.withLock { $0 = answer }
        }
        await gateway.stop()
        return status.withLock { $0 }
    }

    @Test("The relay answers 504 when the gateway sends nothing, and 504 or 502 when its response drips")
    func slow() async throws {
        let limits = RelayConfiguration.Limits.quick { $0.gatewayIdleTimeout = .milliseconds(300) }
        #expect(try await status(limits: limits) { await $0.waitForClose() } == 504)
        let drip = try await status(limits: .quick { $0.requestTimeout = .seconds(1) }) { connection in
            _ = try await connection.receiveHead()
            try await connection.drip([UInt8](repeating: UInt8(ascii: "H"), count: 100), pause: .milliseconds(100))
        }
        #expect(drip == 504 || drip == 502)
    }

    @Test(
        "A Content-Length beside Transfer-Encoding is not passed on, so content cannot look like the next response", arguments: [3, 1_000])
    func twoFramings(length: Int) async throws {
        let content = "abcHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nINJECTED"
        let gateway = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send(
                Self.head + "Content-Length: \(length)\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "\(String(content.utf8.count, radix: 16))\r\n\(content)\r\n0\r\n\r\n")
            await connection.waitForClose()
        }
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/") { (relay) async throws in
            let client = try RawClient(port: relay.port)
            client.write(Self.request.replacingOccurrences(of: "Host: x\r\n", with: "Host: x\r\nConnection: close\r\n"))
            let (text, isClosed) = await client.readToEnd()
            let parts = text.split(separator: "\r\n\r\n", maxSplits: 1).map { $0.lowercased() }
            #expect(isClosed && parts.count == 2)
            #expect(parts.first?.contains("content-length") == false && parts.first?.contains("transfer-encoding: chunked") == true)
            #expect(text.contains(content))
        }
        await gateway.stop()
    }

    @Test("A relay that is asked to stop gives up a request that its gateway does not answer when the drain time is over")
    func stop() async throws {
        let gateway = try await RawServer.start { await $0.waitForClose() }
        let metrics = Shared<TestMetrics?>(nil)
        let clients = Shared<RawClient?>(nil)
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/") { (relay) async throws in
            let client = try RawClient(port: relay.port)
            client.write(Self.request)
            #expect(await eventually { gateway.receivedCount > 0 })
            metrics.value = relay.metrics
            clients.value = client
        }
        // Otherwise the relay would have waited for the gateway's idle timeout, and counted a failure.
        #expect(metrics.value?.count("abandoned") == 1)
        await gateway.stop()
    }

    @Test("A client whose connection breaks frees its place, although the gateway does not answer")
    func goneClient() async throws {
        let connections = Shared(0)
        let gateway = try await RawServer.start { connection in
            let number = connections.change {
                $0 += 1
                return $0
            }
            guard number > 1 else { return await connection.waitForClose() }
            _ = try await connection.receiveHead()
            try await connection.send(Self.head + "Content-Length: 2\r\n\r\nok")
        }
        try await RunningRelay.with(
            gateway: "http://127.0.0.1:\(gateway.port)/",
            limits: .quick { ($0.requestsPerClient, $0.gatewayIdleTimeout) = (1, .seconds(600)) }
        ) { (relay) async throws in
            var client: RawClient? = try RawClient(port: relay.port)
            client?.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n" + Self.request)
            #expect(await eventually { gateway.receivedCount > 0 })
            // The system resets a connection that is closed with an unread answer.
            client = nil
            #expect(try await eventually { try await relay.post().status == 200 })
            #expect(relay.metrics.count("abandoned") == 1)
        }
        await gateway.stop()
    }

    @Test("The relay warns once, not once per request, that the gateway is too slow or not reachable")
    func warnings() async throws {
        let gateway = try await RawServer.start { await $0.waitForClose() }
        let limits = RelayConfiguration.Limits.quick { $0.gatewayIdleTimeout = .milliseconds(200) }
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/", limits: limits) { (relay) async throws in
            for _ in 0..<3 { #expect(try await relay.post().status == 504) }
            #expect(relay.logs.lines.filter { $0.contains("took too long") }.count == 1)
            await gateway.stop()
            for _ in 0..<3 { #expect(try await relay.post().status == 502) }
            #expect(relay.logs.lines.filter { $0.contains("no usable response") }.count == 1)
        }
    }

    @Test("The relay passes on that the gateway's server has no such path, and warns once with the remedy", arguments: [404, 405])
    func notFound(status: Int) async throws {
        let gateway = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(.init(code: status)) }
        try await RunningRelay.with(gateway: gateway.url) { (relay) async throws in
            for _ in 0..<3 { #expect(try await relay.post().status == status) }
            let warnings = relay.logs.lines.filter { $0.hasPrefix("warning") }
            #expect(warnings.count == 1 && warnings.first?.contains("--gateway") == true, "\(warnings)")
        }
        await gateway.stop()
    }

    @Test("The relay answers 502 when the gateway hangs up, sends no HTTP or sends an unexpected response")
    func unusable() async throws {
        let answers = [
            "", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\nContent-Type: message/ohttp-chunked-res\r\nContent-Length: 2\r\n\r\nhi",
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 201 Created\r\nContent-Type: message/ohttp-res\r\nContent-Length: 0\r\n\r\n",
        ]
        for answer in answers {
            let status = try await status { connection in
                _ = try await connection.receiveHead()
                try await connection.send(answer)
            }
            #expect(status == 502, "\(answer)")
        }
        try await RunningRelay.with(gateway: "http://127.0.0.1:1/") { (relay) async throws in
            let answer = try await relay.post()
            #expect(answer.status == 502)
            #expect(String(decoding: answer.body, as: UTF8.self) == #"{"status":502,"title":"Bad Gateway"}"#)
        }
    }

    @Test("When the gateway's response breaks off, the relay breaks off its response to the client")
    func half() async throws {
        let (seen, wasSeen) = AsyncStream.makeStream(of: Void.self)
        let gateway = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send(Self.head + "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            // If both arrived at once, the relay would see the failure before the head.
            for await _ in seen { break }
        }
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/") { (relay) async throws in
            let response = try await relay.send(.bytes([1]))
            #expect(response.status == 200)
            wasSeen.finish()
            await #expect(throws: TransportError.self) { try await response.body.collect(upTo: 100) }
        }
        await gateway.stop()
    }

    @Test(
        "A response over the limit is answered 502 if its length is announced, and is broken off otherwise",
        arguments: [("message/ohttp-req", "message/ohttp-res"), ("message/ohttp-chunked-req", "message/ohttp-chunked-res")])
    func answerTooLarge(request: String, response: String) async throws {
        let isWhole = request == "message/ohttp-req"
        let gate = Gate()
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let isAnnounced = try await message.body.collect() == [1]
            return TestResponse(headerFields: [.contentType: response], length: isAnnounced ? 120_000 : nil) { index in
                // The first part alone is within the limit. The relay has forwarded it before the second part arrives.
                if index == 1 { try await gate.wait() }
                return index < 2 ? [UInt8](repeating: 1, count: 60_000) : nil
            }
        }
        let limits = RelayConfiguration.Limits.quick {
            if isWhole { $0.messageBytes = 100_000 } else { $0.chunkedMessageBytes = 100_000 }
        }
        try await RunningRelay.with(gateway: gateway.url, limits: limits) { (relay) async throws in
            #expect(try await relay.post([1], type: request).status == 502)
            let answer = try await relay.send(.bytes([2]), type: request)
            #expect(answer.status == 200)
            gate.open()
            await #expect(throws: TransportError.self) { try await answer.body.collect(upTo: 1 << 20) }
        }
        await gateway.stop()
    }

    @Test("The relay passes on an error status, and only problem details that are short", arguments: [400, 401, 422, 429, 500, 503])
    func problems(status: Int) async throws {
        let problem = #"{"type":"https://iana.org/assignments/http-problem-types#ohttp-key"}"#
        let gateway = try await TestHTTPServer.start(certificate: nil) { message in
            let length = try await message.body.collect().count
            let text = length == 1 ? problem : String(repeating: "a", count: 100_000)
            let type = length == 3 ? "text/html" : "application/problem+json"
            return TestResponse(.init(code: status), headerFields: [.contentType: type, .retryAfter: "3"], text: text)
        }
        try await RunningRelay.with(gateway: gateway.url) { (relay) async throws in
            let answer = try await relay.post([1])
            #expect(answer.status == status)
            #expect(answer.headers[.contentType] == "application/problem+json")
            #expect(String(decoding: answer.body, as: UTF8.self) == problem)
            #expect(try await relay.post([1, 2]).body.count < 100)
            let html = try await relay.post([1, 2, 3])
            #expect(html.status == status)
            #expect(html.body.count < 100)
        }
        await gateway.stop()
    }

    @Test("A refusal before the request ends reaches the client, and the relay keeps serving")
    func earlyRefusal() async throws {
        let gateway = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await connection.waitForClose()
        }
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/") { (relay) async throws in
            for _ in 0..<20 {
                let (parts, source) = AsyncStream.makeStream(of: [UInt8].self)
                source.yield([UInt8](repeating: 0, count: 1_000))
                let response = try await relay.send(.stream(length: nil, RequestBodyStream(parts)), type: "message/ohttp-chunked-req")
                #expect(response.status == 400)
                source.finish()
            }
            #expect(try await relay.post().status == 400)
        }
        await gateway.stop()
    }

    @Test("A request on a kept HTTP/1.1 connection that turns out to be dead is sent once and answered 502")
    func singleUse() async throws {
        let requests = Shared(0)
        let gateway = try await RawServer.start { connection in
            while true {
                let head = try await connection.receiveHead()
                guard head.contains("POST") else { return }
                let number = requests.change {
                    $0 += 1
                    return $0
                }
                guard number == 1 else { return try await connection.reset() }
                try await connection.send(Self.head + "Content-Length: 2\r\n\r\nok")
            }
        }
        try await RunningRelay.with(gateway: "http://127.0.0.1:\(gateway.port)/") { (relay) async throws in
            let answers = [try await relay.post().status, try await relay.post([4, 5, 6]).status]
            #expect(answers == [200, 502])
        }
        #expect(requests.value == 2)
        await gateway.stop()
    }

    @Test("A request whose HTTP/2 connection is lost is sent once and answered 502")
    func singleUseHTTP2() async throws {
        let certificate = try GatewayCertificate()
        let requests = Shared(0)
        let servers = Shared<TestHTTPServer?>(nil)
        let gateway = try await TestHTTPServer.start(certificate: certificate.leaf) { message in
            _ = try await message.body.collect()
            let number = requests.change {
                $0 += 1
                return $0
            }
            if number > 1 {
                servers.value?.closeConnections()
                _ = await eventually { servers.value?.counters.open == 0 }
            }
            return TestResponse(headerFields: [.contentType: "message/ohttp-res"])
        }
        servers.value = gateway
        try await RunningRelay.with(gateway: gateway.url, roots: certificate.root.pem) { (relay) async throws in
            let answers = [try await relay.post().status, try await relay.post().status]
            #expect(answers == [200, 502])
        }
        #expect(requests.value == 2)
        servers.value = nil
        await gateway.stop()
    }

    @Test("A gateway with another key, or under another root, receives no request")
    func trust() async throws {
        let certificate = try GatewayCertificate()
        let gateway = try await TestHTTPServer.start(certificate: certificate.leaf) { _ in TestResponse() }
        let other = try GatewayCertificate()
        try await RunningRelay.with(gateway: gateway.url, pins: [other.pin], roots: certificate.root.pem) { (relay) async throws in
            #expect(try await relay.post().status == 502)
        }
        try await RunningRelay.with(gateway: gateway.url, roots: other.root.pem) { (relay) async throws in
            #expect(try await relay.post().status == 502)
            #expect(relay.logs.lines.contains { $0.contains("trustRefused") })
        }
        #expect(gateway.counters.requests == 0)
        await gateway.stop()
    }
}
