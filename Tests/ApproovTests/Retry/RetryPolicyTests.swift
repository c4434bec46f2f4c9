import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct RetryPolicyTests {
    private let clock = ManualClock()

    private func policy(limit: Int = 2, jitter: Double = 1, key: Bool = false) -> RetryPolicy {
        var policy = RetryPolicy(limit: limit, clock: clock, jitter: { jitter })
        policy.trustsIdempotencyKey = key
        return policy
    }

    private func decision(
        _ policy: RetryPolicy, _ method: String = "GET", _ headers: [String: String] = [:], after outcome: RequestOutcome, attempt: Int = 1
    ) async -> RetryDecision {
        await policy.retry(URLRequest("https://api.test/", method: method, headers), after: outcome, attempt: attempt)
    }

    @Test("The delay doubles with each attempt up to the longest, and is random between one half of it and all of it")
    func backoff() async throws {
        let unreachable = RequestOutcome.failure(ApproovError(.networkingError, "down"))
        var delays: [RetryDecision] = []
        for attempt in 1...7 { delays.append(await decision(policy(limit: 7), after: unreachable, attempt: attempt)) }
        let expected: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(20)]
        #expect(delays == expected.map { .retryAfter($0) })
        #expect(await decision(policy(jitter: 0), after: unreachable) == .retryAfter(.milliseconds(250)))
        #expect(await decision(policy(limit: 2), after: unreachable, attempt: 3) == .doNotRetry)
        #expect(await decision(policy(limit: 0), after: unreachable) == .doNotRetry)
        #expect(await decision(policy(limit: .max), after: unreachable, attempt: .max) == .retryAfter(.seconds(20)))
    }

    @Test("The system's randomness gives different delays within the bounds")
    func randomness() async {
        var seen: Set<RetryDecision> = []
        for _ in 0..<50 { seen.insert(await decision(RetryPolicy(), after: .failure(ApproovError(.networkingError, "down")))) }
        #expect(seen.count > 1)
        for case .retryAfter(let delay) in seen { #expect(delay >= .milliseconds(250) && delay <= .milliseconds(500)) }
    }

    @Test("A status is retried for idempotent methods alone", arguments: [408, 429, 502, 503, 504])
    func statuses(_ status: Int) async throws {
        let outcome = RequestOutcome.response(try head(status))
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"] {
            #expect(await decision(policy(), method, after: outcome) == .retryAfter(.milliseconds(500)))
        }
        for method in ["POST", "PATCH", "CONNECT", "SEARCH"] { #expect(await decision(policy(), method, after: outcome) == .doNotRetry) }
    }

    @Test("Other statuses are not retried", arguments: [200, 301, 400, 401, 403, 404, 500, 501])
    func others(_ status: Int) async throws {
        #expect(await decision(policy(), after: .response(try head(status))) == .doNotRetry)
    }

    @Test("A response that a validator refused counts by its status")
    func refused() async throws {
        for (status, isRetried) in [(503, true), (500, false), (200, false)] {
            var error = ApproovError.responseRefused("a test")
            error.refusedResponse?.head = try head(status)
            #expect(await (decision(policy(), after: .failure(error)) != .doNotRetry) == isRetried)
            #expect(await decision(policy(), "POST", after: .failure(error)) == .doNotRetry)
        }
    }

    @Test("A failure is retried exactly if the error says that nothing can be executed twice")
    func failures() async {
        for isRetryable in [true, false] {
            let error = ApproovError(.timedOut, "late", isRetryable: isRetryable)
            for method in ["GET", "POST"] {
                #expect(await (decision(policy(), method, after: .failure(error)) != .doNotRetry) == isRetryable)
            }
        }
        for error in [ApproovError(.pinningError, ""), ApproovError(.badRequest, ""), ApproovError(.rejectionError, "")] {
            #expect(await decision(policy(), after: .failure(error)) == .doNotRetry)
        }
        #expect(await decision(policy(), after: .failure(CancellationError())) == .doNotRetry)
    }

    @Test("Retry-After in seconds or as a date decides about the delay, and more than the longest delay is not waited for")
    func retryAfter() async throws {
        func outcome(_ value: String) throws -> RequestOutcome { .response(try head(503, ["Retry-After": value])) }
        #expect(await decision(policy(jitter: 0), after: try outcome("7")) == .retryAfter(.seconds(7)))
        #expect(await decision(policy(jitter: 1), after: try outcome("7")) == .retryAfter(.milliseconds(7_500)))
        #expect(await decision(policy(jitter: 0), after: try outcome("20")) == .retryAfter(.seconds(20)))
        #expect(await decision(policy(), after: try outcome("21")) == .doNotRetry)
        #expect(await decision(policy(), after: try outcome("99999999999999999999")) == .doNotRetry)
        clock.setDate(try #require(HTTPDate.parse("Sun, 06 Nov 1994 08:49:30 GMT")))
        #expect(await decision(policy(jitter: 0), after: try outcome("Sun, 06 Nov 1994 08:49:37 GMT")) == .retryAfter(.seconds(7)))
        #expect(await decision(policy(jitter: 0), after: try outcome("Sun, 06 Nov 1994 08:00:00 GMT")) == .retryAfter(.zero))
    }

    @Test("A Retry-After that cannot be read does not count", arguments: ["", "-1", "soon", "1, 2", "1.5", "٣"])
    func unreadable(_ value: String) async throws {
        #expect(await decision(policy(), after: .response(try head(503, ["Retry-After": value]))) == .retryAfter(.milliseconds(500)))
    }

    @Test("A request with Idempotency-Key counts as idempotent only if the policy says so")
    func idempotencyKey() async throws {
        let key = ["Idempotency-Key": "k"]
        let lost = RequestOutcome.failure(ApproovError(.networkingError, "lost", isRetryable: false))
        for outcome in [lost, .response(try head(503))] {
            #expect(await decision(policy(key: true), "POST", key, after: outcome) == .retryAfter(.milliseconds(500)))
            #expect(await decision(policy(key: false), "POST", key, after: outcome) == .doNotRetry)
            #expect(await decision(policy(key: true), "POST", after: outcome) == .doNotRetry)
            #expect(await decision(policy(key: true), "POST", ["Idempotency-Key": ""], after: outcome) == .doNotRetry)
        }
        #expect(await decision(policy(key: true), "POST", key, after: .failure(ApproovError(.pinningError, ""))) == .doNotRetry)
    }

    @Test("The Idempotency-Key of a session's per-request headers counts like that of the request")
    func perRequestKey() async throws {
        func exchange(_ fields: HTTPFields, status: Int) throws -> RequestExchange {
            RequestExchange(
                request: URLRequest("https://api.test/", method: "POST"), perRequestFields: fields, sent: { nil },
                outcome: .response(try head(status)), attempt: 1, ownRetries: 0, hasLeftOrigin: false, isAfterExecution: false,
                isIdempotent: { false })
        }
        let name = try #require(HTTPField.Name("Idempotency-Key"))
        let fields: HTTPFields = [name: "k"]
        #expect(try exchange(fields, status: 503).request.value(forHTTPHeaderField: "Idempotency-Key") == "k")
        #expect(await policy(key: true).retry(try exchange(fields, status: 503)) == .retryAfter(.milliseconds(500)))
        #expect(await policy(key: true).retry(try exchange([:], status: 503)) == .doNotRetry)
        #expect(await policy(key: true).retry(try exchange(fields, status: 200)) == .doNotRetry)
    }

    @Test("An Idempotency-Key does not count where a redirect to another origin dropped it, or an interceptor changed it")
    func lostKey() async throws {
        func decision(
            _ sentKey: String?, status: Int? = 503, isSent: Bool = true, hasLeftOrigin: Bool = false
        ) async throws -> RetryDecision {
            let sent = URLRequest("https://api.test/", method: "POST", sentKey.map { ["Idempotency-Key": $0] } ?? [:])
            let outcome: RequestOutcome =
                if let status { .response(try head(status)) } else { .failure(ApproovError(.networkingError, "lost", isRetryable: false)) }
            return await policy(key: true).retry(
                RequestExchange(
                    request: URLRequest("https://api.test/", method: "POST", ["Idempotency-Key": "k"]), sent: isSent ? sent : nil,
                    outcome: outcome, hasLeftOrigin: hasLeftOrigin))
        }
        let again = RetryDecision.retryAfter(.milliseconds(500))
        for status in [503, nil] {
            #expect(try await decision("k", status: status) == again)
            #expect(try await decision(nil, status: status, isSent: false) == again)
            #expect(try await decision(nil, status: status) == .doNotRetry)
            #expect(try await decision("other", status: status) == .doNotRetry)
            #expect(try await decision("k", status: status, hasLeftOrigin: true) == .doNotRetry)
            #expect(try await decision(nil, status: status, isSent: false, hasLeftOrigin: true) == .doNotRetry)
        }
    }

    @Test("A POST with Idempotency-Key that a redirect led to another origin is not sent again", arguments: [true, false])
    func redirectedKey(isAnswered: Bool) async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.host.name == "else.test" else {
                return TransportResponse(status: 307, headerFields: [.location: "https://else.test/"], url: request.url)
            }
            guard isAnswered else { throw TransportError(.connectionLost, "lost") }
            return TransportResponse(status: 503, url: request.url)
        }
        let post = URLRequest("https://api.test/", method: "POST", ["Idempotency-Key": "k"], body: "x")
        let status = try? await send(post, in: world, policy(key: true)).1.statusCode
        #expect(status == (isAnswered ? 503 : nil))
        #expect(world.apiRequests.count == 2)
    }

    /// Performs a request in a session with the policy, and lets the time of each delay pass.
    private func send(_ request: URLRequest, in world: World, _ policy: RetryPolicy) async throws -> (Data, HTTPURLResponse) {
        let session = try world.configured { $0.interceptors = [policy] }
        let task = Task { try await session.data(for: request) }
        let isOver = Shared(false)
        let watch = Task {
            _ = await task.result
            isOver.value = true
        }
        _ = await eventually {
            // The background refresh of tokens sleeps for longer.
            if let next = world.clock.nextWakeUp, next <= .seconds(20) { world.clock.advance(by: next) }
            return isOver.value
        }
        await watch.value
        return try await task.value
    }

    @Test("A session sends a POST again that was never sent, however often, but not after one that may have been executed")
    func certainlyUnsent() async throws {
        let world = try World()
        let count = Shared(0)
        world.api.value = { request in
            if count.change({
                $0 += 1; return $0
            }) < 3 {
                throw TransportError(.connectionFailed, "refused")
            }
            return TransportResponse(status: 200, url: request.url)
        }
        let post = URLRequest("https://api.test/", method: "POST", body: "x")
        #expect(try await send(post, in: world, policy(limit: 5)).1.statusCode == 200)
        #expect(world.apiRequests.count == 3)

        let other = try World()
        let failures = Shared(0)
        other.api.value = { _ in
            throw TransportError(
                failures.change {
                    $0 += 1; return $0
                } == 1 ? .connectionFailed : .connectionLost, "lost")
        }
        let error = await #expect(throws: ApproovError.self) { try await send(post, in: other, policy(limit: 5)) }
        #expect(error?.code == .networkingError && error?.isRetryable == false)
        #expect(other.apiRequests.count == 2)
    }

    @Test("A GET is sent again after the delay that the server asks for")
    func session() async throws {
        let world = try World()
        let count = Shared(0)
        world.api.value = { request in
            guard
                count.change({
                    $0 += 1; return $0
                }) < 2
            else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 429, headerFields: [.retryAfter: "9"], url: request.url)
        }
        let start = world.clock.uptime
        #expect(try await send(URLRequest("https://api.test/"), in: world, policy(jitter: 0)).1.statusCode == 200)
        #expect(world.clock.uptime - start >= .seconds(9))
        #expect(world.apiRequests.count == 2)
    }

    @Test("A POST that got a response is not sent again")
    func answered() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 503, url: $0.url) }
        let post = URLRequest("https://api.test/", method: "POST", body: "x")
        #expect(try await send(post, in: world, policy()).1.statusCode == 503)
        #expect(world.apiRequests.count == 1)
    }
}
