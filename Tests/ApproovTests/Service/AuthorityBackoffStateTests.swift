import Attestation
import Foundation
import HTTPClient
import Testing

@testable import Approov

@Suite struct AuthorityBackoffStateTests {
    private let broken = AuthorityFailure(httpStatus: 500, problem: nil, retryAfter: nil)
    private let start: Duration = .seconds(100)
    private static let shortFailures =
        [.trustRefused, .tlsFailed, .connectionLost, .idleTimeout, .totalTimeout].map { (code: TransportError.Code) in
            AuthorityFailure(TransportError(code, "it went wrong"))
        } + [AuthorityFailure(CancellationError())]

    /// The uptime from which the authority may be asked again, found in steps of one millisecond.
    private func end(of backoff: AuthorityBackoffState, from start: Duration) -> Duration {
        var now = start
        while !mayAsk(backoff, now) { now += .milliseconds(1) }
        return now
    }

    private func mayAsk(
        _ backoff: AuthorityBackoffState, _ now: Duration, _ question: AuthorityBackoffState.Question = .attestation
    ) -> Bool {
        if case .ask = backoff.decide(question, now: now) { true } else { false }
    }

    /// A random jitter between 0 and 1.
    private var random: Double { .random(in: 0...1) }

    @Test("An authority that never failed may be asked at once")
    func untouched() {
        #expect(mayAsk(AuthorityBackoffState(), .zero))
    }

    @Test("The pause after the first failure is one second, grows with later failures and never exceeds a minute")
    func growing() {
        var backoff = AuthorityBackoffState()
        var now = start
        var waits: [Duration] = []
        for _ in 0..<10 {
            backoff.failed(broken, now: now, jitter: random)
            let end = end(of: backoff, from: now)
            waits.append(end - now)
            now = end
        }
        #expect(waits[0] == .seconds(1))
        #expect((.seconds(2)...(.seconds(4))).contains(waits[2]))
        #expect(waits[6...].allSatisfy { ((.seconds(30))...(.seconds(60) + .milliseconds(1))).contains($0) })
    }

    @Test(
        "After failures of trust, TLS or the connection, after timeouts and cancellation, no pause exceeds eight seconds",
        arguments: shortFailures)
    func growingLess(_ failure: AuthorityFailure) {
        var backoff = AuthorityBackoffState()
        var now = start
        var waits: [Duration] = []
        for _ in 0..<10 {
            backoff.failed(failure, now: now, jitter: random)
            let end = end(of: backoff, from: now)
            waits.append(end - now)
            now = end
        }
        #expect(waits[0] == .seconds(1))
        #expect((.seconds(2)...(.seconds(4))).contains(waits[2]))
        #expect(waits[3...].allSatisfy { ((.seconds(4))...(.seconds(8) + .milliseconds(1))).contains($0) })
        #expect(Set(waits[3...]).count > 1, "the pauses should have jitter")
    }

    @Test("Clients that failed together do not retry together")
    func jitter() {
        let ends = (0..<20).map { _ in
            var backoff = AuthorityBackoffState()
            for time in 0..<8 { backoff.failed(broken, now: start + .seconds(60 * time), jitter: random) }
            return end(of: backoff, from: start + .seconds(60 * 7))
        }
        #expect(Set(ends).count > 10)
    }

    @Test("Failures of requests that were already under way do not extend the pause")
    func together() {
        var backoff = AuthorityBackoffState()
        for _ in 0..<64 { backoff.failed(broken, now: start, jitter: random) }
        #expect(!mayAsk(backoff, start + .milliseconds(999)))
        #expect(mayAsk(backoff, start + .seconds(1)))
        backoff.failed(broken, now: start + .seconds(1), jitter: random)
        #expect(mayAsk(backoff, start + .seconds(3)))
    }

    @Test("A success ends the pause and resets the failure count")
    func success() {
        var backoff = AuthorityBackoffState()
        for time in 0..<5 { backoff.failed(broken, now: start + .seconds(60 * time), jitter: random) }
        backoff.succeeded()
        let later = start + .seconds(241)
        #expect(mayAsk(backoff, later))
        backoff.failed(broken, now: later, jitter: random)
        #expect(end(of: backoff, from: later) - later == .seconds(1))
    }

    @Test(
        "A refusal, a Retry-After, an unreachable server or a busy transport starts no backoff",
        arguments: [
            AuthorityFailure(httpStatus: 403, problem: Problem(.wrongAccount, title: "no", status: 403), retryAfter: nil),
            AuthorityFailure(httpStatus: 429, problem: nil, retryAfter: .seconds(7)),
            AuthorityFailure(TransportError(.connectionFailed, "refused")), AuthorityFailure(TransportError(.hostUnresolved, "no name")),
            AuthorityFailure(TransportError(.connectTimeout, "no server")), AuthorityFailure(TransportError(.tooManyRequests, "ours")),
        ])
    func others(_ failure: AuthorityFailure) {
        var backoff = AuthorityBackoffState()
        backoff.failed(failure, now: start, jitter: random)
        #expect(mayAsk(backoff, start))
    }

    @Test("A refusal by the authority itself ends the pause")
    func refusal() {
        var backoff = AuthorityBackoffState()
        backoff.failed(broken, now: start, jitter: random)
        backoff.failed(
            AuthorityFailure(httpStatus: 403, problem: Problem(.wrongAccount, title: "no", status: 403), retryAfter: nil), now: start,
            jitter: random)
        #expect(mayAsk(backoff, start))
    }

    @Test(
        "During a pause, a question fails with the previous failure and the remaining wait",
        arguments: [AuthorityFailure(httpStatus: 500, problem: nil, retryAfter: nil)] + shortFailures)
    func failure(_ broken: AuthorityFailure) throws {
        var backoff = AuthorityBackoffState()
        backoff.failed(broken, now: start, jitter: random)
        guard case .fail(let failure) = backoff.decide(.attestation, now: start + .milliseconds(250)) else {
            Issue.record("the backoff allowed the question")
            return
        }
        #expect(failure.status == broken.status)
        #expect(failure.error.code == broken.error.code)
        #expect(failure.error.isRetryable)
        #expect(failure.error.message.contains("in 1 s"))
        #expect((failure.error.cause as? ApproovError)?.message == broken.error.message)
        #expect(failure.retryAfter == .milliseconds(750))
    }

    @Test("A pause after failures stops only attestations; a pause that the authority requested stops every question")
    func questions() {
        var backoff = AuthorityBackoffState()
        backoff.failed(broken, now: start, jitter: random)
        #expect(!mayAsk(backoff, start) && mayAsk(backoff, start, .exchange))
        backoff.held(for: .seconds(7), now: start)
        for question in [AuthorityBackoffState.Question.attestation, .exchange] {
            #expect(!mayAsk(backoff, start + .milliseconds(6_999), question))
            #expect(mayAsk(backoff, start + .seconds(7), question))
        }
    }

    @Test("Neither a success nor a shorter pause ends the pause that the authority requested")
    func hold() {
        var backoff = AuthorityBackoffState()
        backoff.held(for: .seconds(7), now: start)
        backoff.held(for: .seconds(2), now: start)
        backoff.succeeded()
        #expect(!mayAsk(backoff, start + .seconds(6)))
        #expect(backoff.nextRefresh(afterFailures: 1, now: start, jitter: random) == start + .seconds(7))
        guard case .fail(let failure) = backoff.decide(.exchange, now: start + .seconds(5)) else {
            Issue.record("the backoff allowed the question")
            return
        }
        #expect(failure.status == .noApproovService && failure.retryAfter == .seconds(2))
        #expect(failure.error.message.contains("retry in 3 s"))
    }

    @Test(
        "A failed refresh is retried after one second, then after growing pauses of up to a minute, whatever the failure",
        arguments: [
            AuthorityFailure(TransportError(.connectionFailed, "refused")), AuthorityFailure(TransportError(.tooManyRequests, "ours")),
            AuthorityFailure(httpStatus: 403, problem: Problem(.wrongAccount, title: "no", status: 403), retryAfter: nil),
            AuthorityFailure(httpStatus: 500, problem: nil, retryAfter: nil), AuthorityFailure(CancellationError()),
        ])
    func refreshes(_ failure: AuthorityFailure) {
        var backoff = AuthorityBackoffState()
        var now = start
        var waits: [Duration] = []
        for failures in 1...10 {
            backoff.failed(failure, now: now, jitter: random)
            let next = backoff.nextRefresh(afterFailures: failures, now: now, jitter: random)
            waits.append(next - now)
            now = next
        }
        #expect(waits[0] == .seconds(1))
        #expect((.seconds(2)...(.seconds(4))).contains(waits[2]))
        #expect(waits[6...].allSatisfy { ((.seconds(30))...(.seconds(60))).contains($0) })
    }

    @Test("A token that the authority refuses is retried less and less often, even if other tokens succeed")
    func othersSucceed() {
        var backoff = AuthorityBackoffState()
        let refusal = AuthorityFailure(httpStatus: 400, problem: Problem(.unknownHost, title: "no", status: 400), retryAfter: nil)
        backoff.failed(refusal, now: start, jitter: 1)
        backoff.succeeded()
        #expect(backoff.nextRefresh(afterFailures: 5, now: start, jitter: 1) == start + .seconds(16))
    }

    @Test("The pause starts at one second, doubles, and never exceeds its maximum")
    func pauses() {
        for jitter in [0, 0.5, 1] {
            let pause = { AuthorityBackoffState.pause(after: $0, longest: .seconds(60), jitter: jitter) }
            #expect(pause(1) == .seconds(1))
            #expect(pause(3) == .seconds(2 + 2 * jitter))
            for failures in [7, 8, 100, .max] { #expect(pause(failures) == .seconds(30 + 30 * jitter)) }
        }
    }
}
