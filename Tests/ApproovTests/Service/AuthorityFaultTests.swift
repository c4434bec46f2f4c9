import Approov
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

/// What becomes of an authority that does not do as it should.
@Suite struct AuthorityFaultTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: TokenFetchStatus
        let answer: @Sendable (TransportRequest) async throws -> TransportResponse
    }

    static let faults: [Fault] = [
        Fault(testDescription: "500", status: .noApproovService) { TransportResponse(status: 500, url: $0.url) },
        Fault(testDescription: "500 with a problem", status: .noApproovService) { .problem(.internalError, 500, to: $0) },
        Fault(testDescription: "429", status: .noApproovService) { .problem(.rateLimited, 429, to: $0) },
        Fault(testDescription: "404 of something else", status: .noApproovService) { TransportResponse(status: 404, url: $0.url) },
        Fault(testDescription: "a redirect", status: .noApproovService) {
            TransportResponse(status: 302, headerFields: [.location: "https://evil.test/"], url: $0.url)
        },
        Fault(testDescription: "no content", status: .noApproovService) { TransportResponse(status: 204, url: $0.url) },
        Fault(testDescription: "HTML", status: .noApproovService) { .bytes(Array("<html>".utf8), type: "text/html", to: $0) },
        Fault(testDescription: "no type", status: .noApproovService) {
            TransportResponse(status: 200, url: $0.url, body: ResponseBody(bytes: Array("{}".utf8)))
        },
        Fault(testDescription: "garbage", status: .noApproovService) {
            .bytes((0..<2_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }, type: "application/json", to: $0)
        },
        Fault(testDescription: "half a body", status: .noApproovService) {
            .bytes(Array(#"{"challenge":"YWJ"#.utf8), type: "application/json", to: $0)
        },
        Fault(testDescription: "other members", status: .noApproovService) {
            .bytes(Array(#"{"hello":1}"#.utf8), type: "application/json", to: $0)
        },
        Fault(testDescription: "equal members", status: .noApproovService) {
            .bytes(Array(#"{"challenge":"YWJj","challenge":"YWJk","expiresIn":60}"#.utf8), type: "application/json", to: $0)
        },
        Fault(testDescription: "ten megabytes", status: .noApproovService) {
            .bytes([UInt8](repeating: 0x20, count: 10 << 20), type: "application/json", to: $0)
        },
        Fault(testDescription: "ten megabytes of problem", status: .noApproovService) {
            .bytes([UInt8](repeating: 0x20, count: 10 << 20), type: Problem.mediaType, status: 400, to: $0)
        },
        Fault(testDescription: "the wrong account", status: .internalError) { .problem(.wrongAccount, 403, to: $0) },
        Fault(testDescription: "unresolved", status: .noNetwork) { _ in throw TransportError(.hostUnresolved, "no such host") },
        Fault(testDescription: "unreachable", status: .noNetwork) { _ in throw TransportError(.connectionFailed, "refused") },
        Fault(testDescription: "too slow to connect", status: .noNetwork) { _ in throw TransportError(.connectTimeout, "slow") },
        Fault(testDescription: "very slow", status: .poorNetwork) { _ in throw TransportError(.totalTimeout, "slow") },
        Fault(testDescription: "silent", status: .poorNetwork) { _ in throw TransportError(.idleTimeout, "silent") },
        Fault(testDescription: "broken off", status: .poorNetwork) { _ in throw TransportError(.connectionLost, "reset") },
        Fault(testDescription: "an abort in TLS", status: .poorNetwork) { _ in throw TransportError(.tlsFailed, "alert") },
        Fault(testDescription: "a certificate that is refused", status: .mitmDetected) { _ in
            throw TransportError(
                .trustRefused, "refused", cause: TrustRefusal(.pinMismatch, host: "authority.test", detail: "another key"))
        },
        Fault(testDescription: "a body that breaks off", status: .poorNetwork) { request in
            let body = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield(Array(#"{"challenge""#.utf8))
                continuation.finish(throwing: TransportError(.connectionLost, "reset"))
            }
            return TransportResponse(
                status: 200, headerFields: [.contentType: "application/json"], url: request.url, body: ResponseBody(body))
        },
    ]

    let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    @Test("a fault at the challenge gives its status, and the next fetch works", arguments: faults)
    func challenge(_ fault: Fault) async throws {
        try await check(fault, at: "/v1/challenges")
    }

    @Test("a fault at the attestation gives its status, and the next fetch works", arguments: faults)
    func attestation(_ fault: Fault) async throws {
        try await check(fault, at: "/v1/attestations")
    }

    private func check(_ fault: Fault, at target: String) async throws {
        let world = try World()
        world.authority.script.value.fault = { $0.url.target == target ? try await fault.answer($0) : nil }
        let result = await world.service.fetchToken(for: url, binding: "Bearer secret-value")
        #expect(result.status == fault.status)
        #expect(result.token.isEmpty)
        #expect(result.error?.description.contains("secret-value") == false)
        #expect(result.error?.isRetryable == (fault.status != .internalError))
        #expect(world.service.cachedTokenCount == 0)
        world.authority.script.value.fault = nil
        world.clock.advance(by: .seconds(120))
        #expect(await world.service.fetchToken(for: url, binding: "Bearer secret-value").status == .success)
    }

    @Test("an authority that never answers is given up, whatever the transport does")
    func neverAnswers() async throws {
        let world = try World()
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        world.authority.script.value.fault = { _ in
            // Not even cancellation ends this one.
            await Task.detached { for await _ in never {} }.value
            return nil
        }
        let fetch = Task { await world.service.fetchToken(for: url) }
        await world.clock.sleepers(atLeast: 1)
        world.clock.advance(by: .seconds(31))
        #expect(await fetch.value.status == .poorNetwork)
    }

    @Test(
        "Retry-After is kept to, by every host and binding, and bounded",
        arguments: [("7", 7), ("86400", 60), ("junk", 1), ("0", 1), ("-5", 1)])
    func retryAfter(_ value: String, _ seconds: Int) async throws {
        let world = try World()
        world.authority.script.value.fault = { request in
            TransportResponse(status: 429, headerFields: [.retryAfter: value], url: request.url)
        }
        #expect(await world.service.fetchToken(for: url, binding: "a").status == .noApproovService)
        world.authority.script.value.fault = nil
        let asked = world.transport.requests.count
        world.clock.advance(by: .seconds(seconds) - .milliseconds(1))
        #expect(await world.service.fetchToken(for: url, binding: "b").status == .noApproovService)
        #expect(world.transport.requests.count == asked)
        world.clock.advance(by: .milliseconds(2))
        #expect(await world.service.fetchToken(for: url, binding: "b").status == .success)
    }

    @Test("a busy app asks as often as the kind of the failure allows, and has its status also while it waits", arguments: faults)
    func backoff(_ fault: Fault) async throws {
        let world = try World()
        let asked = Shared(0)
        world.authority.script.value.fault = { request in
            guard request.url.target == "/v1/attestations" else { return nil }
            asked.change { $0 += 1 }
            return try await fault.answer(request)
        }
        // Ten requests a second for two minutes, each with its own binding, so that none shares another's fetch.
        for number in 0..<1_200 {
            let result = await world.service.fetchToken(for: url, binding: "\(number)")
            #expect(result.status == fault.status)
            #expect(result.error?.isRetryable == (fault.status != .internalError))
            world.clock.advance(by: .milliseconds(100))
        }
        let expected =
            switch fault.status {
            // After 1 s, up to 2, 4, 8, 16, 32 and 60, and from half of each on.
            case .noApproovService: 7...10
            // After 1 s, up to 2, 4 and then 8, and from half of each on.
            case .poorNetwork, .mitmDetected: 17...33
            // No server was reached, or the authority itself refuses: asked each time.
            default: 1_200...1_200
            }
        #expect(expected.contains(asked.value), "\(asked.value)")
        // A challenge is no success: what fails is the attestation.
        #expect(world.authority.seen.value.challenges <= expected.upperBound)

        world.authority.script.value.fault = nil
        world.clock.advance(by: .seconds(60))
        #expect(await world.service.fetchToken(for: url, binding: "good").status == .success)
        #expect(await world.service.fetchToken(for: url, binding: "better").status == .success)
    }

    @Test("after the first failure an authority that works again is found out in a second")
    func shortHold() async throws {
        let world = try World()
        world.authority.script.value.fault = { TransportResponse(status: 500, url: $0.url) }
        #expect(await world.service.fetchToken(for: url).status == .noApproovService)
        world.authority.script.value.fault = nil
        world.clock.advance(by: .milliseconds(999))
        #expect(await world.service.fetchToken(for: url).status == .noApproovService)
        world.clock.advance(by: .milliseconds(1))
        #expect(await world.service.fetchToken(for: url).status == .success)
    }

    @Test("a network that comes back is used at once", arguments: faults.filter { $0.status == .noNetwork })
    func networkReturns(_ fault: Fault) async throws {
        let world = try World()
        world.authority.script.value.fault = fault.answer
        for _ in 0..<5 { #expect(await world.service.fetchToken(for: url).status == .noNetwork) }
        world.authority.script.value.fault = nil
        #expect(await world.service.fetchToken(for: url).status == .success)
    }

    @Test("a transport that has too much to do for the authority to be asked delays nothing")
    func tooManyRequests() async throws {
        let world = try World()
        world.authority.script.value.fault = { _ in throw TransportError(.tooManyRequests, "many") }
        let result = await world.service.fetchToken(for: url)
        #expect(result.status == .poorNetwork)
        #expect(result.error?.isRetryable == true)
        world.authority.script.value.fault = nil
        #expect(await world.service.fetchToken(for: url).status == .success)
    }

    @Test("tokens that are there go on serving while the authority is left alone")
    func cachedMeanwhile() async throws {
        let world = try World()
        let token = await world.service.fetchToken(for: url, binding: "a").token
        world.authority.script.value.fault = { TransportResponse(status: 500, url: $0.url) }
        #expect(await world.service.fetchToken(for: url, binding: "b").status == .noApproovService)
        #expect(await world.service.fetchToken(for: url, binding: "a").token == token)
    }

    @Test("a date in Retry-After counts from now")
    func retryAfterDate() async throws {
        let world = try World()
        world.clock.setDate(Date(timeIntervalSince1970: 1_750_000_000))
        world.authority.script.value.fault = { request in
            TransportResponse(status: 503, headerFields: [.retryAfter: "Sun, 15 Jun 2025 15:07:10 GMT"], url: request.url)
        }
        #expect(await world.service.fetchToken(for: url).status == .noApproovService)
        world.authority.script.value.fault = nil
        world.clock.advance(by: .seconds(29))
        #expect(await world.service.fetchToken(for: url).status == .noApproovService)
        world.clock.advance(by: .seconds(2))
        #expect(await world.service.fetchToken(for: url).status == .success)
    }

    @Test("requests to the authority are bounded and go under its own pins")
    func bounds() async throws {
        let world = try World()
        _ = await world.service.fetchToken(for: url)
        for request in world.transport.requests {
            #expect(request.options.maximumBodyBytes == 9 << 20)
            #expect(request.options.totalTimeout == .seconds(15))
            let rule = try request.policy.rule(for: request.url.host)
            #expect(rule.validatesPath)
            #expect(rule.evaluators.contains { $0 is PublicKeysTrustEvaluator })
            #expect(request.policy.refusesUnmatchedHosts)
            #expect(!request.headerFields.contains { $0.value.contains("secret") })
        }
    }
}
