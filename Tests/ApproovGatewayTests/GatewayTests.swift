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
}
