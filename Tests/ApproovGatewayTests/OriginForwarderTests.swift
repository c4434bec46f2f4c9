import ApproovTesting
import CertificatePinning
import Foundation
import HTTPServing
import HTTPClient
import HTTPTypes
import MetricsTestKit
import NIOCore
import OHTTP
import TestTags
import Testing

@testable import ApproovGateway

/// What a gateway admits and forwards, and how it counts and logs failures.
@Suite(.tags(.sockets)) struct OriginForwarderTests {
    private let clock = ManualClock()
    private let logs = LogRecord()
    private let metrics = TestMetrics()

    private func forwarder(
        _ replay: GatewayConfiguration.Replay = .init(), transport: any HTTPTransport = InProcessTransport(status: 200)
    ) throws -> OriginForwarder {
        let configuration = GatewayConfiguration(port: 0, allowedOrigins: ["https://api.example.com"], replay: replay)
        return OriginForwarder(
            targets: try AllowedTargets(configuration), window: ReplayWindow(replay, startedAt: clock.date, uptime: clock.uptime),
            transport: transport, limits: configuration.limits, time: clock, metrics: GatewayMetrics(metrics), logger: logs.logger)
    }

    private static let key = ReplayWindow.Key(encoded: [1])

    private func admit(_ forwarder: OriginForwarder, _ key: UInt8, date: Date? = nil) throws {
        let head = try HTTPRequest.to("https://api.example.com/", fields: date.map { [.date: HTTPDate.format($0)] } ?? [:])
        _ = try forwarder.admit(head, encapsulatedKey: [key], key: Self.key)
    }

    private func count(_ outcome: String) -> Int64 {
        metrics.counterTotal(label: "approov_gateway_requests", dimensions: [("outcome", outcome)])
    }

    @Test("When memory for undated requests is full, clients are asked for a date, and a warning is logged hourly")
    func undatedFull() throws {
        var replay = GatewayConfiguration.Replay()
        replay.rememberedUndated = 2
        let forwarder = try forwarder(replay)
        try admit(forwarder, 1)
        try admit(forwarder, 2)
        #expect(logs.lines.isEmpty)
        for key in 3..<100 as Range<UInt8> { #expect(throws: InnerProblem.date) { try admit(forwarder, key) } }
        #expect(throws: OriginForwarder.Replayed.self) { try admit(forwarder, 1) }
        #expect(logs.lines.count == 1)
        #expect(logs.lines.first?.contains("--remember") == true)
        #expect(count("date") == 97)
        // The gateway accepts the date that it asked for.
        try admit(forwarder, 3, date: forwarder.now)
        clock.advance(by: .seconds(3_600))
        #expect(throws: InnerProblem.date) { try admit(forwarder, 4) }
        #expect(logs.lines.count == 2)
    }

    @Test("When memory for dated requests is full, clients are told to retry later, and one warning is logged")
    func datedFull() throws {
        var replay = GatewayConfiguration.Replay()
        replay.rememberedDated = 1
        let forwarder = try forwarder(replay)
        try admit(forwarder, 1, date: forwarder.now)
        for key in 2..<50 as Range<UInt8> { #expect(throws: InnerProblem.busy) { try admit(forwarder, key, date: forwarder.now) } }
        #expect(logs.lines.count == 1)
        #expect(count("busy") == 48)
        clock.advance(by: .seconds(600))
        try admit(forwarder, 2, date: forwarder.now)
    }

    @Test("Every request over the limit is counted, and a warning is logged once an hour")
    func noPlace() throws {
        let forwarder = try forwarder()
        for _ in 0..<10 { forwarder.hadNoPlace() }
        #expect(logs.lines.count == 1)
        clock.advance(by: .seconds(3_600))
        forwarder.hadNoPlace()
        #expect(logs.lines.count == 2)
        #expect(count("busy") == 11)
    }

    @Test("A refused origin is logged once an hour with the remedy and without its name, and that of a check is not")
    func forbidden() throws {
        let forwarder = try forwarder()
        func ask(_ url: String) throws {
            #expect(throws: InnerProblem.forbidden) { _ = try forwarder.admit(.to(url), encapsulatedKey: [1], key: Self.key) }
        }
        try ask("https://approov-check.invalid/")
        #expect(logs.lines.isEmpty)
        for _ in 0..<3 { try ask("https://marker.example.com/marker") }
        #expect(logs.lines.count == 1)
        #expect(logs.lines.first?.contains("--allow") == true && logs.lines.first?.contains("marker") == false, "\(logs.lines)")
        clock.advance(by: .seconds(3_600))
        try ask("https://marker.example.com/")
        #expect(logs.lines.count == 2)
        #expect(count("forbidden") == 5)
    }

    @Test("The warning about a target whose certificate is refused names the remedy, and that about another failure does not")
    func targetFailed() throws {
        let forwarder = try forwarder()
        let target = try TransportURL("https://api.example.com/")
        _ = forwarder.failed(TransportError(.connectTimeout, "no answer"), target)
        #expect(logs.lines.count == 1 && logs.lines.first?.contains("--cacert") == false, "\(logs.lines)")
        let refusal = TrustRefusal(.untrustedRoot, host: "api.example.com", detail: "no root")
        _ = forwarder.failed(TransportError(.trustRefused, "refused", cause: refusal), target)
        #expect(logs.lines.count == 2 && logs.lines.last?.contains("--cacert") == true, "\(logs.lines)")
    }

    @Test("With the clock set back, old dates stay rejected, the gateway's own date is accepted, and it warns once")
    func setBack() throws {
        let forwarder = try forwarder()
        let served = forwarder.now + 1
        try admit(forwarder, 1, date: served)
        for _ in 0..<5 {
            clock.advance(by: .seconds(100))
            try admit(forwarder, UInt8(clock.uptime / .seconds(100)), date: forwarder.now)
        }
        let right = clock.date
        clock.setDate(served)
        for key in [1, 202, 203] as [UInt8] { #expect(throws: InnerProblem.date) { try admit(forwarder, key, date: served) } }
        #expect(throws: OriginForwarder.Replayed.self) { try admit(forwarder, 1, date: served) }
        #expect(logs.lines.count == 1)
        #expect(logs.lines.first?.contains("set back") == true)
        try admit(forwarder, 200, date: forwarder.now)
        #expect(throws: OriginForwarder.Replayed.self) { try admit(forwarder, 200, date: forwarder.now) }
        clock.setDate(right + 10)
        #expect(throws: InnerProblem.date) { try admit(forwarder, 204, date: served) }
        try admit(forwarder, 201, date: right + 10)
    }

    @Test("An error on the relay's side counts as abandoned or malformed, and only a target's error as failed")
    func attribution() throws {
        let forwarder = try forwarder()
        let target = try TransportURL("https://api.example.com/")
        let abandoned: [any Error] = [
            CancellationError(), ChannelError.alreadyClosed, IOError(errnoCode: 104, reason: "reset"), BorrowedRequestBody.Stalled(),
            TransportError(.requestBodyFailed, "", cause: ChannelError.eof),
            TransportError(.requestBodyFailed, "", cause: CancellationError()),
        ]
        for error in abandoned { _ = forwarder.failed(error, target) }
        #expect(count("abandoned") == Int64(abandoned.count))
        #expect(logs.lines.isEmpty)

        let malformed: [any Error] = [
            BorrowedRequestBody.TooLong(), OHTTPError(.truncatedMessage, ""),
            TransportError(.requestBodyFailed, "", cause: OHTTPError(.decapsulationFailed, "")),
            TransportError(.requestBodyFailed, "", cause: BorrowedRequestBody.TooLong()),
        ]
        for error in malformed { #expect((400..<500).contains(forwarder.failed(error, target).details.status)) }
        #expect(count("malformed") == Int64(malformed.count))
        #expect(logs.lines.isEmpty)

        for code in [.connectionLost, .idleTimeout, .trustRefused, .malformedResponse] as [TransportError.Code] {
            #expect(forwarder.failed(TransportError(code, ""), target).details.status >= 500)
            #expect(logs.lines.last?.contains(code.description) == true)
        }
        #expect(count("failed") == 4)
        #expect(count("abandoned") == Int64(abandoned.count))
    }

    @Test("A client that stops sending its content gets 408, and one whose path or Host is wrong the reason, without a warning")
    func diagnoses() throws {
        let forwarder = try forwarder()
        let target = try TransportURL("https://api.example.com/")
        let stalls: [any Error] = [
            BorrowedRequestBody.Stalled(), TransportError(.requestBodyFailed, "", cause: BorrowedRequestBody.Stalled()),
        ]
        for error in stalls { #expect(forwarder.failed(error, target).details.status == 408) }
        var request = try HTTPRequest.to("https://api.example.com/")
        request.path = "/a#b"
        #expect(throws: InnerProblem.unusableTarget) { _ = try forwarder.admit(request, encapsulatedKey: [1], key: Self.key) }
        #expect(count("forbidden") == 1 && logs.lines.isEmpty)
    }

    @Test("A request that cannot be sent gets 400, counts as malformed rather than failed, and is not logged")
    func impossible() throws {
        let forwarder = try forwarder()
        let target = try TransportURL("https://api.example.com/")
        for code in [.invalidHeader, .invalidURL, .unsupported] as [TransportError.Code] {
            #expect(forwarder.failed(TransportError(code, ""), target).details.status == 400)
        }
        #expect(count("malformed") == 3)
        #expect(logs.lines.isEmpty)
    }

    @Test("A failing target is logged once an hour for each target and kind of failure")
    func pacedWarnings() throws {
        let forwarder = try forwarder()
        let target = try TransportURL("https://api.example.com/")
        for _ in 0..<10 { _ = forwarder.failed(TransportError(.connectionLost, ""), target) }
        #expect(logs.lines.count == 1)
        _ = forwarder.failed(TransportError(.idleTimeout, ""), target)
        _ = forwarder.failed(TransportError(.connectionLost, ""), try TransportURL("https://other.example.com/"))
        #expect(logs.lines.count == 3)
        clock.advance(by: .seconds(3_600))
        _ = forwarder.failed(TransportError(.connectionLost, ""), target)
        #expect(logs.lines.count == 4)
        #expect(count("failed") == 13)
    }

    @Test("A request that is cancelled while its target is slow counts as abandoned, not as a failure of the target")
    func cancelled() async throws {
        let signal = AsyncStream.makeStream(of: Void.self)
        let transport = InProcessTransport { _ in
            signal.continuation.yield()
            try await waitForCancellation()
        }
        let forwarder = try forwarder(transport: transport)
        let target = try TransportURL("https://api.example.com/")
        let task = Task {
            try await forwarder.send(
                .to("https://api.example.com/"), to: target, body: .none, isChunked: false, until: .now + .seconds(600))
        }
        for await _ in signal.stream { break }
        task.cancel()
        await #expect(throws: InnerProblem.self) { _ = try await task.value }
        #expect(count("abandoned") == 1)
        #expect(count("failed") == 0)
        #expect(logs.lines.isEmpty)
    }

    @Test("A request whose time is over before it is forwarded gets 504, and counts as a failure")
    func late() async throws {
        let target = try await RawServer.start { await $0.waitForClose() }
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let forwarder = try forwarder(transport: transport)
        let url = "http://127.0.0.1:\(target.port)/"
        let problem = await #expect(throws: InnerProblem.self) {
            try await forwarder.send(
                .to(url), to: try TransportURL(url), body: .none, isChunked: true, until: .now - .seconds(1))
        }
        #expect(problem == .gatewayTimeout)
        #expect(count("failed") == 1)
        await target.stop()
    }

    @Test(
        "The gateway sends an encapsulated 504 when the origin does not answer within the request timeout",
        arguments: [Duration.zero, .seconds(1)])
    func requestTimeout(pause: Duration) async throws {
        let target = try await RawServer.start { connection in
            while !Task.isCancelled { _ = try await connection.receiveHead() }
        }
        let url = "http://127.0.0.1:\(target.port)"
        // The listener's timeout begins with the request's, and must not close the connection before the answer is sent.
        try await RunningGateway.with(
            allow: [url],
            limits: {
                $0.requestTimeout = .milliseconds(500)
                $0.chunkedRequestTimeout = .milliseconds(500)
            }
        ) { (gateway) async throws in
            let request = try await gateway.keys().preferred().chunkedRequest()
            var sealer = request.sealer
            var encoder = BinaryHTTPRequestEncoder()
            let message = try sealer.seal(encoder.head(.to(url))) + sealer.finish(encoder.end())
            let (parts, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield(Array(message.prefix(1)))
            async let response = gateway.send(.stream(length: nil, RequestBodyStream(parts)), type: OHTTPMediaType.chunkedRequest)
            // A pause longer than the timeout, for a rest that arrives late. The time runs from the moment when the gateway handles the
            // head, so on a very busy machine the rest may still be in time: then this is the case without a pause, with the same answer.
            try await Task.sleep(for: pause)
            source.yield(Array(message.dropFirst()))
            source.finish()
            var answer = ChunkedAnswer(try await response, request.response)
            #expect(try await answer.nextBody()?.contains("504") == true)
        }
        await target.stop()
    }
}
