import ApproovBase
import ApproovGateway
import ApproovTesting
import Foundation
import HTTPTypes
import OHTTP
import TestTags
import Testing

@Suite(.tags(.sockets)) struct GatewayTests {
    @Test("A gateway fails with cannotListen on a port where another server listens")
    func portTaken() async throws {
        try await RunningGateway.with(allow: ["https://api.example.com"]) { first in
            let port = try #require(URL(string: first.url)?.port)
            let second = try Gateway(
                keys: first.file, configuration: GatewayConfiguration(port: port, allowedOrigins: ["https://api.example.com"]),
                logger: .silent)
            await refuses(.cannotListen) { try await second.run() }
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
            // The date itself is accepted.
            #expect(try await gateway.ask(.to(target.url, fields: [.date: HTTPDate.format(date)])).head.status == .ok)
        }
        #expect(target.counters.requests == 1)
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
            #expect(try await gateway.ask(.to(target.url)).head.status == .ok)
        }
        #expect(logs.value?.lines.joined().contains("the file of remembered requests cannot be written") == isFolder)
        // A file of this gateway takes the place of one that others could write.
        if !isFolder { #expect(FileStatus(file.path(percentEncoded: false))?.permissions == 0o600) }
        await target.stop()
    }
}
