import ApproovTesting
import Foundation
import HTTPTypes
import OHTTP
import Testing

@testable import ApproovServer

/// Keys that change while a gateway serves.
@Suite(.timeLimit(.minutes(5))) struct KeyRotationTests {
    @Test("a new key is published within a second, the old one goes on for the overlap, and then is unknown")
    func rotation() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let clock = ManualClock(date: Date())
        try await RunningGateway.with(allow: [target.url], time: clock) { (gateway) async throws in
            let old = try await gateway.keys().preferred()
            let new = try #require(try gateway.file.rotate(overlap: .seconds(100)).entries.first).key.configuration
            try await gateway.waitForKeys { $0 == [new] }
            #expect(try await gateway.ask(.to(target.url), using: old).text == "ok")
            #expect(try await gateway.ask(.to(target.url), using: new).text == "ok")
            clock.advance(by: .seconds(101))
            for _ in 0..<100 where try gateway.keysInFile() > 1 { try await Task.sleep(for: .milliseconds(100)) }
            await #expect(throws: GatewayRefusal.unknownKey) { try await gateway.ask(.to(target.url), using: old) }
            #expect(try await gateway.ask(.to(target.url), using: new).text == "ok")
            #expect(try gateway.keysInFile() == 1)
        }
        await target.stop()
    }

    @Test("a key file that is broken while the gateway runs leaves the keys that it has in force, and is told once")
    func broken() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            try gateway.breakKeyFile()
            try await Task.sleep(for: .milliseconds(900))
            #expect(try await gateway.ask(.to(target.url), using: key).text == "ok")
            #expect(gateway.logs.lines.filter { $0.contains("cannot be taken up") }.count == 1)
        }
        await target.stop()
    }
}
