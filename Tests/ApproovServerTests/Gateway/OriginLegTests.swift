import ApproovTesting
import Foundation
import HTTPListener
import HTTPTransport
import HTTPTypes
import MetricsTestKit
import NIOCore
import OHTTP
import Testing

@testable import ApproovServer

/// What a gateway admits, forwards and says of it, without sockets.
@Suite struct OriginLegTests {
    private let clock = ManualClock()
    private let logs = LogRecord()
    private let metrics = TestMetrics()

    private func leg(
        _ replay: GatewayConfiguration.Replay = .init(), transport: any HTTPTransport = InProcessTransport(status: 200)
    ) throws -> OriginLeg {
        let configuration = GatewayConfiguration(port: 0, allowedOrigins: ["https://api.example.com"], replay: replay)
        return OriginLeg(
            targets: try TargetRules(configuration), window: ReplayWindow(replay, startedAt: clock.date, uptime: clock.uptime),
            transport: transport, limits: configuration.limits, time: clock, metrics: GatewayMetrics(metrics), logger: logs.logger)
    }

    private func admit(_ leg: OriginLeg, _ key: UInt8, date: Date? = nil) throws {
        let head = try HTTPRequest.to("https://api.example.com/", fields: date.map { [.date: HTTPDate.format($0)] } ?? [:])
        _ = try leg.admit(head, encapsulatedKey: [key], keyID: 1)
    }

    private func count(_ outcome: String) -> Int64 {
        metrics.counterTotal(label: "approov_gateway_requests", dimensions: [("outcome", outcome)])
    }

    @Test("once no more requests without a date can be remembered they are asked for one, and the operator is told once what to do")
    func undatedFull() throws {
        var replay = GatewayConfiguration.Replay()
        replay.rememberedUndated = 2
        let leg = try leg(replay)
        try admit(leg, 1)
        try admit(leg, 2)
        #expect(logs.lines.isEmpty)
        for key in 3..<100 as Range<UInt8> { #expect(throws: InnerProblem.date) { try admit(leg, key) } }
        #expect(throws: OriginLeg.Replayed.self) { try admit(leg, 1) }
        #expect(logs.lines.count == 1)
        #expect(logs.lines.first?.contains("--remember") == true)
        #expect(count("date") == 97)
        // What the gateway asks for is what it takes.
        try admit(leg, 3, date: leg.now)
        clock.advance(by: .seconds(3_600))
        #expect(throws: InnerProblem.date) { try admit(leg, 4) }
        #expect(logs.lines.count == 2)
    }

    @Test("once no more requests with a date can be remembered they are told to come back, and the operator what to do, once")
    func datedFull() throws {
        var replay = GatewayConfiguration.Replay()
        replay.rememberedDated = 1
        let leg = try leg(replay)
        try admit(leg, 1, date: leg.now)
        for key in 2..<50 as Range<UInt8> { #expect(throws: InnerProblem.busy) { try admit(leg, key, date: leg.now) } }
        #expect(logs.lines.count == 1)
        clock.advance(by: .seconds(600))
        try admit(leg, 2, date: leg.now)
    }

    @Test("a clock that is set back admits nothing again; clients are told a date that is accepted, and the operator once what to do")
    func setBack() throws {
        let leg = try leg()
        let served = leg.now + 1
        try admit(leg, 1, date: served)
        for _ in 0..<5 {
            clock.advance(by: .seconds(100))
            try admit(leg, UInt8(clock.uptime / .seconds(100)), date: leg.now)
        }
        let right = clock.date
        clock.setDate(served)
        for _ in 0..<3 { #expect(throws: InnerProblem.date) { try admit(leg, 1, date: served) } }
        #expect(logs.lines.count == 1)
        #expect(logs.lines.first?.contains("set back") == true)
        try admit(leg, 200, date: leg.now)
        #expect(throws: OriginLeg.Replayed.self) { try admit(leg, 200, date: leg.now) }
        clock.setDate(right + 10)
        #expect(throws: InnerProblem.date) { try admit(leg, 1, date: served) }
        try admit(leg, 201, date: right + 10)
    }

    @Test("what the relay's side breaks off is not put down to the target")
    func attribution() throws {
        let leg = try leg()
        let target = try TransportURL("https://api.example.com/")
        let abandoned: [any Error] = [
            CancellationError(), ChannelError.alreadyClosed, IOError(errnoCode: 104, reason: "reset"), BorrowedRequestBody.Stalled(),
            TransportError(.requestBodyFailed, "", cause: ChannelError.eof),
            TransportError(.requestBodyFailed, "", cause: CancellationError()),
        ]
        for error in abandoned { _ = leg.failed(error, target) }
        #expect(count("abandoned") == Int64(abandoned.count))
        #expect(logs.lines.isEmpty)

        let malformed: [any Error] = [
            BorrowedRequestBody.TooLong(), OHTTPError(.truncatedMessage, ""),
            TransportError(.requestBodyFailed, "", cause: OHTTPError(.decapsulationFailed, "")),
            TransportError(.requestBodyFailed, "", cause: BorrowedRequestBody.TooLong()),
        ]
        for error in malformed { #expect((400..<500).contains(leg.failed(error, target).status)) }
        #expect(count("malformed") == Int64(malformed.count))
        #expect(logs.lines.isEmpty)

        for code in [.connectionLost, .idleTimeout, .trustRefused, .malformedResponse] as [TransportError.Code] {
            #expect(leg.failed(TransportError(code, ""), target).status >= 500)
            #expect(logs.lines.last?.contains(code.description) == true)
        }
        #expect(count("failed") == 4)
        #expect(count("abandoned") == Int64(abandoned.count))
    }

    @Test("a request whose handler is cancelled while its target is slow is not put down to the target")
    func cancelled() async throws {
        let signal = AsyncStream.makeStream(of: Void.self)
        let transport = InProcessTransport { _ in
            signal.continuation.yield()
            try await Task.sleep(for: .seconds(600), clock: .continuous)
            throw TransportError(.idleTimeout, "")
        }
        let leg = try leg(transport: transport)
        let target = try TransportURL("https://api.example.com/")
        let task = Task { try await leg.send(.to("https://api.example.com/"), to: target, body: .none, isChunked: false) }
        for await _ in signal.stream { break }
        task.cancel()
        await #expect(throws: InnerProblem.self) { _ = try await task.value }
        #expect(count("abandoned") == 1)
        #expect(count("failed") == 0)
        #expect(logs.lines.isEmpty)
    }
}
