import ApproovGateway
import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import TestTags
import Testing

/// Keys that change while a gateway runs.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct KeyRotationTests {
    @Test("The gateway publishes a new key within a second, and accepts the old one until its overlap ends")
    func rotation() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let clock = ManualClock(date: Date())
        try await RunningGateway.with(allow: [target.url], time: clock) { (gateway) async throws in
            let old = try await gateway.keys().preferred()
            let new = try #require(try gateway.file.rotate(overlap: .seconds(100)).entries.first).key.configuration
            await clock.passKeyWatch()
            #expect(try await gateway.keys().configurations == [new])
            #expect(try await gateway.ask(.to(target.url), using: old).text == "ok")
            #expect(try await gateway.ask(.to(target.url), using: new).text == "ok")
            clock.advance(by: .seconds(101))
            await clock.sleepers(atLeast: 1)
            await #expect(throws: GatewayRefusal.unknownKey) { try await gateway.ask(.to(target.url), using: old) }
            #expect(try await gateway.ask(.to(target.url), using: new).text == "ok")
            #expect(try gateway.keysInFile() == 1)
        }
        await target.stop()
    }

    @Test("A request sealed to an unknown key is counted, and a warning once an hour names the key and the remedy")
    func staleKey() async throws {
        let clock = ManualClock(date: Date())
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"], time: clock) { (gateway) async throws in
            let id = try await gateway.keys().preferred().id
            let stale = try GatewayKey(id: id &+ 100).configuration
            let whole = try stale.encapsulate(BinaryHTTPRequest(head: .to("http://127.0.0.1:1/secret")).encoded()).message
            let request = try stale.chunkedRequest()
            let chunked = try request.sealer.finish([UInt8](repeating: 0x3f, count: 1_024))
            for _ in 0..<3 {
                #expect(try await gateway.post(whole).refusal == .unknownKey)
                #expect(try await gateway.post(chunked, type: OHTTPMediaType.chunkedRequest).refusal == .unknownKey)
            }
            #expect(gateway.counts == ["unknownKey": 6])
            func warnings() -> [String] { gateway.logs.lines.filter { $0.hasPrefix("warning") } }
            #expect(warnings().count == 1)
            #expect(warnings().first?.contains(#""key": \#(stale.id)"#) == true, "\(warnings())")
            #expect(warnings().first?.contains("approov oblivious -set") == true)
            #expect(warnings().first?.contains("secret") == false)
            clock.advance(by: .seconds(3_600))
            #expect(try await gateway.post(whole).refusal == .unknownKey)
            #expect(warnings().count == 2)
            // A message that names an accepted key and cannot be opened is damaged. It does not count as an unknown key.
            var damaged = whole
            damaged[0] = id
            #expect(try await gateway.post(damaged).refusal == .unknownKey)
            #expect(gateway.counts == ["unknownKey": 7, "unopened": 1])
            #expect(warnings().count == 2)
        }
    }

    @Test("A replay of an undated request is rejected if its key ends while it arrives", arguments: [false, true])
    func replayAcrossEnd(isChunked: Bool) async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let clock = ManualClock(date: Date())
        try await RunningGateway.with(allow: [target.url], time: clock) { (gateway) async throws in
            let message: [UInt8]
            if isChunked {
                message = try await gateway.chunkedMessage(.to(target.url)).message
            } else {
                message = [UInt8](
                    try await gateway.keys().preferred().encapsulate(BinaryHTTPRequest(head: .to(target.url)).encoded()).message)
            }
            let type = isChunked ? OHTTPMediaType.chunkedRequest : OHTTPMediaType.request
            #expect(try await gateway.post(message, type: type).status == 200)
            // The copy begins before its key ends, and the rest of it arrives afterwards.
            let client = try RawClient(port: URL(string: gateway.url)?.port ?? 0)
            client.write("POST /gateway HTTP/1.1\r\nHost: x\r\nContent-Type: \(type)\r\nContent-Length: \(message.count)\r\n\r\n")
            client.write(Array(message.prefix(3)))
            _ = try await gateway.send(.none, path: "/health", method: .get)
            let new = try #require(try gateway.file.rotate(overlap: .zero).entries.first).key.configuration
            await clock.passKeyWatch()
            #expect(try await gateway.keys().configurations == [new])
            client.write(Array(message.dropFirst(3)))
            #expect(await client.readText()?.hasPrefix("HTTP/1.1 400 ") == true)
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("The gateway keeps its keys when the key file becomes malformed, and logs that once")
    func broken() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        let clock = ManualClock(date: Date())
        try await RunningGateway.with(allow: [target.url], time: clock) { (gateway) async throws in
            let key = try await gateway.keys().preferred()
            try gateway.breakKeyFile()
            // The gateway checks the file three times.
            for _ in 0..<3 { await clock.passKeyWatch() }
            #expect(try await gateway.ask(.to(target.url), using: key).text == "ok")
            #expect(gateway.logs.lines.filter { $0.contains("cannot be loaded") }.count == 1)
        }
        await target.stop()
    }
}
