import Approov
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

/// How token fetches end if the authority misbehaves.
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
        Fault(testDescription: "404 without a problem", status: .noApproovService) { TransportResponse(status: 404, url: $0.url) },
        Fault(testDescription: "a redirect", status: .noApproovService) {
            TransportResponse(status: 302, headerFields: [.location: "https://evil.test/"], url: $0.url)
        },
        Fault(testDescription: "no content", status: .noApproovService) { TransportResponse(status: 204, url: $0.url) },
        Fault(testDescription: "HTML", status: .noApproovService) { .bytes(Array("<html>".utf8), type: "text/html", to: $0) },
        Fault(testDescription: "no content type", status: .noApproovService) {
            TransportResponse(status: 200, url: $0.url, body: ResponseBody(bytes: Array("{}".utf8)))
        },
        Fault(testDescription: "garbage", status: .noApproovService) {
            .bytes((0..<2_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }, type: "application/json", to: $0)
        },
        Fault(testDescription: "truncated JSON", status: .noApproovService) {
            .bytes(Array(#"{"challenge":"YWJ"#.utf8), type: "application/json", to: $0)
        },
        Fault(testDescription: "unexpected members", status: .noApproovService) {
            .bytes(Array(#"{"hello":1}"#.utf8), type: "application/json", to: $0)
        },
        Fault(testDescription: "repeated members", status: .noApproovService) {
            .bytes(Array(#"{"challenge":"YWJj","challenge":"YWJk","expiresIn":60}"#.utf8), type: "application/json", to: $0)
        },
        Fault(testDescription: "ten MiB of spaces", status: .noApproovService) {
            .bytes([UInt8](repeating: 0x20, count: 10 << 20), type: "application/json", to: $0)
        },
        Fault(testDescription: "a problem of ten MiB", status: .noApproovService) {
            .bytes([UInt8](repeating: 0x20, count: 10 << 20), type: Problem.mediaType, status: 400, to: $0)
        },
        Fault(testDescription: "the wrong account", status: .internalError) { .problem(.wrongAccount, 403, to: $0) },
        Fault(testDescription: "host not resolved", status: .noNetwork) { _ in throw TransportError(.hostUnresolved, "no such host") },
        Fault(testDescription: "connection refused", status: .noNetwork) { _ in throw TransportError(.connectionFailed, "refused") },
        Fault(testDescription: "connect timeout", status: .noNetwork) { _ in throw TransportError(.connectTimeout, "slow") },
        Fault(testDescription: "total timeout", status: .poorNetwork) { _ in throw TransportError(.totalTimeout, "slow") },
        Fault(testDescription: "idle timeout", status: .poorNetwork) { _ in throw TransportError(.idleTimeout, "silent") },
        Fault(testDescription: "connection lost", status: .poorNetwork) { _ in throw TransportError(.connectionLost, "reset") },
        Fault(testDescription: "TLS failure", status: .poorNetwork) { _ in throw TransportError(.tlsFailed, "alert") },
        Fault(testDescription: "certificate refused", status: .mitmDetected) { _ in
            throw TransportError(
                .trustRefused, "refused", cause: TrustRefusal(.pinMismatch, host: "authority.test", detail: "another key"))
        },
        Fault(testDescription: "connection lost in the body", status: .poorNetwork) { request in
            let body = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield(Array(#"{"challenge""#.utf8))
                continuation.finish(throwing: TransportError(.connectionLost, "reset"))
            }
            return TransportResponse(
                status: 200, headerFields: [.contentType: "application/json"], url: request.url, body: ResponseBody(body))
        },
    ]

    let url = URL(string: "https://api.test/shapes") ?? URL(filePath: "/")

    @Test("A fault during the challenge request gives its status, and a later fetch succeeds", arguments: faults)
    func challenge(_ fault: Fault) async throws {
        try await check(fault, at: "/v1/challenges")
    }

    @Test("A fault during the attestation request gives its status, and a later fetch succeeds", arguments: faults)
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

    @Test("A fetch gives up on an authority that never answers, even if the transport ignores cancellation")
    func neverAnswers() async throws {
        let world = try World()
        let (never, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        world.authority.script.value.fault = { _ in
            // Not even cancellation ends this wait.
            await Task.detached { for await _ in never {} }.value
            return nil
        }
        let fetch = Task { await world.service.fetchToken(for: url) }
        await world.clock.sleepers(atLeast: 1)
        world.clock.advance(by: .seconds(31))
        #expect(await fetch.value.status == .poorNetwork)
    }

    @Test(
        "Retry-After also delays fetches with other bindings, for at least 1 s and at most 60 s",
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

    @Test("A busy app asks only as often as the kind of failure allows, and gets that failure's status while it waits", arguments: faults)
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
            // The pauses are 1 s, and then half to all of 2, 4, 8, 16, 32 and 60 s.
            case .noApproovService: 7...10
            // The pauses are 1 s, and then half to all of 2, 4, 8 and again 8 s.
            case .poorNetwork, .mitmDetected: 17...33
            // No server was reached, or the authority itself refused: every fetch asks.
            default: 1_200...1_200
            }
        #expect(expected.contains(asked.value), "\(asked.value)")
        // A challenge does not count as a success, because the attestation fails.
        #expect(world.authority.seen.value.challenges <= expected.upperBound)

        world.authority.script.value.fault = nil
        world.clock.advance(by: .seconds(60))
        #expect(await world.service.fetchToken(for: url, binding: "good").status == .success)
        #expect(await world.service.fetchToken(for: url, binding: "better").status == .success)
    }

    @Test("The first failure pauses fetches for one second only")
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

    @Test("A fetch succeeds as soon as the network is back", arguments: faults.filter { $0.status == .noNetwork })
    func networkReturns(_ fault: Fault) async throws {
        let world = try World()
        world.authority.script.value.fault = fault.answer
        for _ in 0..<5 { #expect(await world.service.fetchToken(for: url).status == .noNetwork) }
        world.authority.script.value.fault = nil
        #expect(await world.service.fetchToken(for: url).status == .success)
    }

    @Test("A transport that is too busy starts no pause, so the next fetch asks the authority")
    func tooManyRequests() async throws {
        let world = try World()
        world.authority.script.value.fault = { _ in throw TransportError(.tooManyRequests, "many") }
        let result = await world.service.fetchToken(for: url)
        #expect(result.status == .poorNetwork)
        #expect(result.error?.isRetryable == true)
        world.authority.script.value.fault = nil
        #expect(await world.service.fetchToken(for: url).status == .success)
    }

    @Test("While fetches pause after a failure, cached tokens are still returned")
    func cachedMeanwhile() async throws {
        let world = try World()
        let token = await world.service.fetchToken(for: url, binding: "a").token
        world.authority.script.value.fault = { TransportResponse(status: 500, url: $0.url) }
        #expect(await world.service.fetchToken(for: url, binding: "b").status == .noApproovService)
        #expect(await world.service.fetchToken(for: url, binding: "a").token == token)
    }

    @Test("A date in Retry-After pauses fetches until that date")
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

    @Test("Requests to the authority have size and time limits, and use the authority's own pins")
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
