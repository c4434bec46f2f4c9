import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

@testable import ApproovGateway

@Suite(.tags(.sockets)) struct GatewayTests {
    @Test("A gateway fails with cannotListen on a port where another server listens")
    func portTaken() async throws {
        try await RunningGateway.with(allow: ["https://api.example.com"]) { first in
            let port = try #require(URL(string: first.url)?.port)
            let second = try Gateway(
                keys: GatewayKeyFile(first.directory.file("other keys")),
                configuration: GatewayConfiguration(port: port, allowedOrigins: ["https://api.example.com"]),
                logger: .silent)
            await refuses(.cannotListen) { try await second.run() }
        }
    }

    @Test("A second gateway with the same key file fails with the remedy while the first one serves, and serves after its end")
    func oneGateway() async throws {
        let folder = try TemporaryFolder()
        let origins = ["https://api.example.com"]
        try await RunningGateway.with(allow: origins, folder: folder) { first in
            var limits = GatewayConfiguration.Limits()
            limits.drain = .zero
            let second = try Gateway(
                keys: first.file, configuration: GatewayConfiguration(port: 0, allowedOrigins: origins, limits: limits), logger: .silent)
            let error = await #expect(throws: GatewayError.self) { try await second.run() }
            #expect(error?.code == .gatewayKeysInUse, "\(error?.message ?? "")")
            #expect(error?.message.contains(folder.path("keys")) == true && error?.message.contains("--keys FILE") == true)
            // A rotation needs another lock.
            _ = try first.file.rotate(overlap: .seconds(60))
        }
        #expect(try folder.names.contains("keys.serving"))
        try await RunningGateway.with(allow: origins, folder: folder) { gateway in _ = try await gateway.keys() }
    }

    @Test("A gateway that waits for another one's end begins to serve then")
    func takesOver() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let folder = try TemporaryFolder()
        let url = Shared(URL(filePath: "/"))
        var limits = GatewayConfiguration.Limits()
        // As long as the test may take.
        limits.drain = .seconds(600)
        let second = try Gateway(
            keys: GatewayKeyFile(folder.url.appending(path: "keys")),
            configuration: GatewayConfiguration(port: 0, allowedOrigins: [target.url], limits: limits), logger: .silent,
            onReady: { url.value = $0 })
        let running = Shared<Task<Void, any Error>?>(nil)
        try await RunningGateway.with(allow: [target.url], folder: folder) { first in
            running.value = Task { try await second.run() }
            let answer = try await first.ask(.to(target.url))
            #expect(answer.text == "ok")
            #expect(url.value.scheme == "file")
        }
        #expect(await eventually { url.value.scheme == "http" })
        running.value?.cancel()
        _ = await running.value?.result
        await target.stop()
    }

    @Test("A gateway that cannot listen leaves what the last gateway remembered as it is", arguments: ["none", "damaged", "good"])
    func portTakenBeforeRestart(kind: String) async throws {
        let folder = try TemporaryFolder()
        let seen = PrivateFile(folder.url.appending(path: "keys.seen"))
        let content: [UInt8]? =
            switch kind {
            case "damaged": [1]
            case "good": ReplayWindow(.init(), startedAt: Date(), uptime: .zero).remembered(at: Date(), uptime: .zero)
            default: nil
            }
        if let content { try seen.write(content) }
        try await RunningGateway.with(allow: ["https://api.example.com"]) { first in
            let port = try #require(URL(string: first.url)?.port)
            let second = try Gateway(
                keys: GatewayKeyFile(folder.url.appending(path: "keys")),
                configuration: GatewayConfiguration(port: port, allowedOrigins: ["https://api.example.com"]), logger: .silent)
            await refuses(.cannotListen) { try await second.run() }
        }
        #expect(try seen.read(upTo: 1_000) == content)
    }

    @Test("The answers to HEAD have no content, so that the next answer on the connection begins in its place")
    func head() async throws {
        try await RunningGateway.with(allow: ["https://api.example.com"]) { gateway in
            let client = try RawClient(port: try #require(URL(string: gateway.url)?.port))
            client.write("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\nHEAD /x HTTP/1.1\r\nHost: x\r\n\r\n")
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let parts = await client.readToEnd().text.split(separator: "\r\n\r\n")
            #expect(parts.map { $0.prefix(12) } == ["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200", #"{"status":"o"#])
        }
    }

    @Test("A request that was refused because it is dated ahead is refused at that date, too, although the gateway was restarted")
    func restart() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let date = clock.date + 600
        var message: [UInt8] = []
        try await RunningGateway.with(allow: [target.url], time: clock, folder: folder) { (gateway) async throws in
            let head = try HTTPRequest.to(target.url, method: .post, fields: [.date: HTTPDate.format(date)])
            message = [UInt8](try await gateway.keys().preferred().encapsulate(BinaryHTTPRequest(head: head).encoded()).message)
            #expect(try await gateway.post(message).status == 200)
        }
        clock.advance(by: .seconds(300))
        try await RunningGateway.with(allow: [target.url], time: clock, folder: folder) { (gateway) async throws in
            clock.advance(by: .seconds(300))
            #expect(try await gateway.post(message).refusal == .unknownKey)
            // If the gateway is killed now, the next one must not take the file for what this one remembered.
            #expect(try !folder.names.contains("keys.seen"))
            // The date itself is accepted.
            #expect(try await gateway.ask(.to(target.url, fields: [.date: HTTPDate.format(date)])).head.status == .ok)
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("A request that was served before a restart is not served again, although the second gateway was made before the first one ran")
    func madeBefore() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        func make(_ onReady: @escaping @Sendable (URL) async -> Void) throws -> Gateway {
            try Gateway(
                keys: GatewayKeyFile(folder.url.appending(path: "keys"), time: clock),
                configuration: GatewayConfiguration(port: 0, allowedOrigins: [target.url]), time: clock, logger: .silent, onReady: onReady)
        }
        let url = Shared(URL(filePath: "/"))
        let second = try make { url.value = $0 }
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        var message: [UInt8] = []
        func post(to url: URL) async throws -> Int {
            try await transport.send(
                TransportRequest(
                    url: try TransportURL(url.absoluteString + "/gateway"), method: .post,
                    headerFields: [.contentType: OHTTPMediaType.request], body: .bytes(message),
                    policy: TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system()))
            ).status
        }
        try await RunningService.with {
            try make($0)
        } body: { service in
            clock.advance(by: .seconds(1))
            let head = try HTTPRequest.to(target.url, method: .post, fields: [.date: HTTPDate.format(clock.date)])
            let key = try #require(
                try GatewayKeyFile(folder.url.appending(path: "keys"), time: clock).load().published.configurations.first)
            message = [UInt8](try key.encapsulate(BinaryHTTPRequest(head: head).encoded()).message)
            #expect(try await post(to: service.url) == 200)
        }
        #expect(target.counters.requests == 1)
        let running = Task { try await second.run() }
        #expect(await eventually { url.value.scheme == "http" })
        #expect(try await post(to: url.value) == 400)
        #expect(target.counters.requests == 1)
        running.cancel()
        _ = await running.result
        await target.stop()
    }

    @Test("A POST of a device with a slow clock is served after a restart, and not after a kill", arguments: [false, true])
    func slowClock(isKilled: Bool) async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        try await RunningGateway.with(allow: [target.url], time: clock, folder: folder) { _ in clock.advance(by: .seconds(100)) }
        if isKilled { try FileManager.default.removeItem(at: folder.url.appending(path: "keys.seen")) }
        try await RunningGateway.with(allow: [target.url], time: clock, folder: folder) { (gateway) async throws in
            clock.advance(by: .seconds(4))
            let head = try HTTPRequest.to(target.url, method: .post, fields: [.date: HTTPDate.format(clock.date - 30)])
            #expect(try await gateway.ask(head).head.status == (isKilled ? .badRequest : .ok))
        }
        #expect(target.counters.requests == (isKilled ? 0 : 1))
        await target.stop()
    }

    @Test("A gateway takes a damaged file of remembered requests for a missing one, and warns")
    func damagedFile() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        try PrivateFile(folder.url.appending(path: "keys.seen")).write([1, 0, 0, 0, 0, 0, 0, 0])
        try await RunningGateway.with(allow: [target.url], time: clock, folder: folder) { (gateway) async throws in
            #expect(gateway.logs.lines.joined().contains("the file of remembered requests cannot be read"), "\(gateway.logs.lines)")
            let dates = [(clock.date - 2, HTTPResponse.Status.badRequest), (clock.date, .ok)]
            for (date, status) in dates {
                #expect(try await gateway.ask(.to(target.url, fields: [.date: HTTPDate.format(date)])).head.status == status)
            }
        }
        await target.stop()
    }

    @Test("A gateway that cannot read or write what it must know after a restart warns, and serves", arguments: [false, true])
    func unusableFile(isFolder: Bool) async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "keys.seen")
        if isFolder {
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        } else {
            try Data([1]).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: file.path(percentEncoded: false))
        }
        let logs = Shared<LogRecord?>(nil)
        try await RunningGateway.with(allow: [target.url], folder: folder) { (gateway) async throws in
            logs.value = gateway.logs
            #expect(gateway.logs.lines.joined().contains("the file of remembered requests cannot be read"))
            #expect(gateway.logs.lines.joined().contains("the file of remembered requests cannot be removed") == isFolder)
            #expect(try await gateway.ask(.to(target.url)).head.status == .ok)
        }
        #expect(logs.value?.lines.joined().contains("the file of remembered requests cannot be written") == isFolder)
        // A file of this gateway takes the place of one that others could write.
        if !isFolder { #expect(FileStatus(file.path(percentEncoded: false))?.permissions == 0o600) }
        await target.stop()
    }
}
