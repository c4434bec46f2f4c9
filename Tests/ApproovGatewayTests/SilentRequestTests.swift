import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

@testable import ApproovGateway

/// Requests that begin and do not continue, and responses that no client reads.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct SilentRequestTests {
    private static func head(_ type: String) -> String {
        "POST /gateway HTTP/1.1\r\nHost: x\r\nContent-Type: \(type)\r\nContent-Length: 200\r\n\r\n"
    }

    private static let types = [OHTTPMediaType.request, OHTTPMediaType.chunkedRequest]

    @Test("A request that sends nothing after its head is answered 408", arguments: types)
    func silent(type: String) async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"], limits: { $0.idleTimeout = .seconds(1) }) {
            (gateway) async throws in
            // On a busy machine the timeout may pass before the head arrives. Then there is no response, and the test tries again.
            let isAnswered = try await eventually {
                let client = try RawClient(port: URL(string: gateway.url)?.port ?? 0)
                client.write(Self.head(type))
                let answer = await client.readToEnd()
                #expect(answer.isClosed)
                return answer.text.hasPrefix("HTTP/1.1 408 ")
            }
            #expect(isAnswered)
        }
    }

    @Test("A whole request that drips is answered 408 at its timeout, although it is never idle")
    func drips() async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"], limits: { $0.requestTimeout = .seconds(1) }) {
            (gateway) async throws in
            let client = try RawClient(port: URL(string: gateway.url)?.port ?? 0)
            client.write(Self.head(OHTTPMediaType.request))
            let dripping = Task {
                // The whole message would take ten seconds, and then be answered 400.
                for _ in 0..<200 {
                    client.write("a")
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            let answer = await client.readText()
            dripping.cancel()
            #expect(answer?.hasPrefix("HTTP/1.1 408 ") == true)
        }
    }

    @Test("A chunked request that is refused keeps no place, although it drips")
    func dripsAfterRefusal() async throws {
        try await RunningGateway.with(
            allow: ["http://127.0.0.1:1"],
            limits: { limits in
                limits.idleTimeout = .seconds(2)
                limits.requests = 1
            }
        ) { (gateway) async throws in
            let message = try await gateway.chunkedMessage(.to("http://127.0.0.1:2/"), body: String(repeating: "a", count: 4_000)).message
            let client = try RawClient(port: URL(string: gateway.url)?.port ?? 0)
            client.write(
                "POST /gateway HTTP/1.1\r\nHost: x\r\nContent-Type: \(OHTTPMediaType.chunkedRequest)\r\n"
                    + "Content-Length: \(message.count)\r\n\r\n")
            client.write(Array(message.prefix(1_000)))
            let dripping = Task {
                // For more than two minutes.
                for byte in message.dropFirst(1_000) {
                    client.write([byte])
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            // Its place is free again long before that.
            let isFree = try await eventually(within: .seconds(60)) {
                let sealed = try await gateway.chunkedMessage(.to("http://127.0.0.1:2/"), body: "")
                let other = try RawClient(port: URL(string: gateway.url)?.port ?? 0)
                other.write(
                    "POST /gateway HTTP/1.1\r\nHost: x\r\nContent-Type: \(OHTTPMediaType.chunkedRequest)\r\nConnection: close\r\n"
                        + "Content-Length: \(sealed.message.count)\r\n\r\n")
                other.write(Array(sealed.message))
                return await other.readText()?.hasPrefix("HTTP/1.1 200 ") == true
            }
            #expect(isFree)
            dripping.cancel()
        }
    }

    @Test("A chunked request that drips before its head is complete is answered 408 after the idle timeout, although it is never idle")
    func dripsInChunks() async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"], limits: { $0.idleTimeout = .seconds(2) }) {
            (gateway) async throws in
            let message = try await gateway.chunkedMessage(.to("http://127.0.0.1:1/"), body: String(repeating: "a", count: 200)).message
            // On a busy machine the timeout may pass before the head arrives. Then there is no response, and the test tries again.
            let isAnswered = try await eventually {
                let client = try RawClient(port: URL(string: gateway.url)?.port ?? 0)
                client.write(
                    "POST /gateway HTTP/1.1\r\nHost: x\r\nContent-Type: \(OHTTPMediaType.chunkedRequest)\r\n"
                        + "Content-Length: \(message.count)\r\n\r\n")
                let dripping = Task {
                    // The whole message would take more than ten seconds, and be answered 200.
                    for byte in message {
                        client.write([byte])
                        try await Task.sleep(for: .milliseconds(50))
                    }
                }
                let answer = await client.readText() ?? ""
                dripping.cancel()
                #expect(!answer.hasPrefix("HTTP/1.1 200 "))
                return answer.hasPrefix("HTTP/1.1 408 ")
            }
            #expect(isAnswered)
        }
    }

    @Test("Requests that have sent only their heads do not count towards the limit of requests", arguments: types)
    func noPlace(type: String) async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await RunningGateway.with(allow: [target.url], limits: { $0.requests = 2 }) { (gateway) async throws in
            let port = URL(string: gateway.url)?.port ?? 0
            let clients = try (0..<4).map { _ in try RawClient(port: port) }
            for client in clients { client.write(Self.head(type)) }
            for _ in 0..<10 { #expect(try await gateway.ask(.to(target.url)).text == "ok") }
            withExtendedLifetime(clients) {}
        }
        await target.stop()
    }

    @Test("An address whose requests do not continue fills only its own places, and another address is served", arguments: types)
    func share(type: String) async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await RunningGateway.with(allow: [target.url], limits: { ($0.requests, $0.requestsPerClient) = (1_000, 2) }) {
            (gateway) async throws in
            let port = URL(string: gateway.url)?.port ?? 0
            var clients: [RawClient] = []
            // A request of this loop may take a place before a silent client does, and that is refused then. So each turn adds a client.
            let isRefused = try await eventually {
                // The address of the test's client.
                let client = try RawClient(port: port, from: 7)
                client.write(Self.head(type) + "a")
                clients.append(client)
                do {
                    return try await gateway.ask(.to(target.url)).text != "ok"
                } catch let refusal as GatewayRefusal {
                    #expect(refusal.status == 503)
                    return true
                }
            }
            #expect(isRefused)
            #expect(gateway.logs.lines.contains { $0.contains("--requests-per-client") && !$0.contains(RunningGateway.clientAddress) })
            let message = [UInt8](
                try await gateway.keys().preferred().encapsulate(BinaryHTTPRequest(head: .to(target.url)).encoded()).message)
            let other = try RawClient(port: port)
            other.write(
                "POST /gateway HTTP/1.1\r\nHost: x\r\nContent-Type: \(OHTTPMediaType.request)\r\nConnection: close\r\n"
                    + "Content-Length: \(message.count)\r\n\r\n")
            other.write(message)
            #expect(await other.readText()?.hasPrefix("HTTP/1.1 200 ") == true)
            clients = []
            #expect(await eventually { (try? await gateway.ask(.to(target.url)).text) == "ok" })
        }
        await target.stop()
    }

    @Test("By default one client may have three quarters of all requests, and at least one")
    func standardShare() {
        var limits = GatewayConfiguration.Limits()
        #expect(limits.shareOfClient == 768)
        for requests in 1...3 {
            limits.requests = requests
            #expect(limits.shareOfClient == requests)
        }
        limits.requestsPerClient = 0
        #expect(!limits.areUsable)
    }

    @Test("A response takes up a place until the client has read it, and other requests get 503 meanwhile", arguments: types)
    func unread(type: String) async throws {
        let size = 16 << 20
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            request.path == "/large" ? TestResponse(body: [UInt8](repeating: 7, count: size)) : TestResponse(text: "ok")
        }
        try await RunningGateway.with(
            allow: [target.url],
            limits: {
                $0.requests = 1
                $0.messageBytes = 32 << 20
            }
        ) { (gateway) async throws in
            let large = try HTTPRequest.to(target.url + "/large")
            let message: [UInt8]
            if type == OHTTPMediaType.request {
                message = [UInt8](try await gateway.keys().preferred().encapsulate(BinaryHTTPRequest(head: large).encoded()).message)
            } else {
                message = try await gateway.chunkedMessage(large).message
            }
            let held = try await gateway.send(.bytes(message), type: type)
            #expect(held.status == 200)
            let busy = await #expect(throws: GatewayRefusal.self) { try await gateway.ask(.to(target.url)) }
            #expect(busy?.status == 503)
            #expect(try await held.body.collect(upTo: 64 << 20).count > size)
            var text: String?
            while text == nil { text = try? await gateway.ask(.to(target.url)).text }
            #expect(text == "ok")
        }
        await target.stop()
    }

    @Test("A response to a whole request that the client does not read gives up its place after the limit for whole requests")
    func unreadWhole() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            request.path == "/large" ? TestResponse(body: [UInt8](repeating: 7, count: 16 << 20)) : TestResponse(text: "ok")
        }
        try await RunningGateway.with(
            allow: [target.url],
            limits: {
                ($0.requests, $0.messageBytes) = (1, 32 << 20)
                // The limit for chunked requests stays at its 15 minutes.
                ($0.requestTimeout, $0.grace) = (.seconds(10), .milliseconds(100))
            }
        ) { (gateway) async throws in
            let large = try BinaryHTTPRequest(head: .to(target.url + "/large")).encoded()
            let message = [UInt8](try await gateway.keys().preferred().encapsulate(large).message)
            let client = try RawClient(port: URL(string: gateway.url)?.port ?? 0)
            client.write(Array("POST /gateway HTTP/1.1\r\nHost: x\r\nContent-Type: \(OHTTPMediaType.request)\r\n".utf8))
            client.write(Array("Content-Length: \(message.count)\r\n\r\n".utf8) + message)
            try #require(await eventually { target.counters.requests == 1 })
            #expect(await eventually { (try? await gateway.ask(.to(target.url)).text) == "ok" })
            withExtendedLifetime(client) {}
        }
        await target.stop()
    }
}
