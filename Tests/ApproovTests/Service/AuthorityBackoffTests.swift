import Attestation
import Foundation
import HTTPClient
import Testing

@testable import Approov

@Suite struct AuthorityBackoffTests {
    private let broken = AuthorityFailure(httpStatus: 500, problem: nil, retryAfter: nil)
    private let start: Duration = .seconds(100)
    private static let shortFailures =
        [.trustRefused, .tlsFailed, .connectionLost, .idleTimeout, .totalTimeout].map { (code: TransportError.Code) in
            AuthorityFailure(TransportError(code, "it went wrong"))
        } + [AuthorityFailure(CancellationError())]

    /// From which uptime on the authority may be asked again, to the millisecond.
    private func end(of backoff: AuthorityBackoff, from start: Duration) -> Duration {
        var now = start
        while !mayAsk(backoff, now) { now += .milliseconds(1) }
        return now
    }

    private func mayAsk(_ backoff: AuthorityBackoff, _ now: Duration) -> Bool { (try? backoff.check(now: now)) != nil }

    @Test("an authority that never failed is asked at once")
    func untouched() {
        #expect(mayAsk(AuthorityBackoff(), .zero))
    }

    @Test("the first failure is waited out for a second, later ones longer, none over a minute")
    func growing() {
        let backoff = AuthorityBackoff()
        var now = start
        var waits: [Duration] = []
        for _ in 0..<10 {
            backoff.failed(broken, now: now)
            let end = end(of: backoff, from: now)
            waits.append(end - now)
            now = end
        }
        #expect(waits[0] == .seconds(1))
        #expect((.seconds(2)...(.seconds(4))).contains(waits[2]))
        #expect(waits[6...].allSatisfy { ((.seconds(30))...(.seconds(60) + .milliseconds(1))).contains($0) })
    }

    @Test("while another server answers, or no server in time, no wait is over eight seconds", arguments: shortFailures)
    func growingLess(_ failure: AuthorityFailure) {
        let backoff = AuthorityBackoff()
        var now = start
        var waits: [Duration] = []
        for _ in 0..<10 {
            backoff.failed(failure, now: now)
            let end = end(of: backoff, from: now)
            waits.append(end - now)
            now = end
        }
        #expect(waits[0] == .seconds(1))
        #expect((.seconds(2)...(.seconds(4))).contains(waits[2]))
        #expect(waits[3...].allSatisfy { ((.seconds(4))...(.seconds(8) + .milliseconds(1))).contains($0) })
        #expect(Set(waits[3...]).count > 1, "there is jitter")
    }

    @Test("many clients that failed together do not come back together")
    func jitter() {
        let ends = (0..<20).map { _ in
            let backoff = AuthorityBackoff()
            for time in 0..<8 { backoff.failed(broken, now: start + .seconds(60 * time)) }
            return end(of: backoff, from: start + .seconds(60 * 7))
        }
        #expect(Set(ends).count > 10)
    }

    @Test("what was under way when the wait began does not make it longer")
    func together() {
        let backoff = AuthorityBackoff()
        for _ in 0..<64 { backoff.failed(broken, now: start) }
        #expect(!mayAsk(backoff, start + .milliseconds(999)))
        #expect(mayAsk(backoff, start + .seconds(1)))
        backoff.failed(broken, now: start + .seconds(1))
        #expect(mayAsk(backoff, start + .seconds(3)))
    }

    @Test("a success ends the wait and restarts the count")
    func success() {
        let backoff = AuthorityBackoff()
        for time in 0..<5 { backoff.failed(broken, now: start + .seconds(60 * time)) }
        backoff.succeeded()
        let later = start + .seconds(241)
        #expect(mayAsk(backoff, later))
        backoff.failed(broken, now: later)
        #expect(end(of: backoff, from: later) - later == .seconds(1))
    }

    @Test(
        "an authority that works is not left alone: it refused, said when to come back, or was not reached",
        arguments: [
            AuthorityFailure(httpStatus: 403, problem: Problem(.wrongAccount, title: "no", status: 403), retryAfter: nil),
            AuthorityFailure(httpStatus: 429, problem: nil, retryAfter: .seconds(7)),
            AuthorityFailure(TransportError(.connectionFailed, "refused")), AuthorityFailure(TransportError(.hostUnresolved, "no name")),
            AuthorityFailure(TransportError(.connectTimeout, "no server")), AuthorityFailure(TransportError(.tooManyRequests, "ours")),
        ])
    func others(_ failure: AuthorityFailure) {
        let backoff = AuthorityBackoff()
        backoff.failed(failure, now: start)
        #expect(mayAsk(backoff, start))
    }

    @Test("a refusal by the authority itself shows that it works again")
    func refusal() {
        let backoff = AuthorityBackoff()
        backoff.failed(broken, now: start)
        backoff.failed(
            AuthorityFailure(httpStatus: 403, problem: Problem(.wrongAccount, title: "no", status: 403), retryAfter: nil), now: start)
        #expect(mayAsk(backoff, start))
    }

    @Test(
        "the failure of those who came too early is that of the one before, with how long to wait",
        arguments: [AuthorityFailure(httpStatus: 500, problem: nil, retryAfter: nil)] + shortFailures)
    func failure(_ broken: AuthorityFailure) throws {
        let backoff = AuthorityBackoff()
        backoff.failed(broken, now: start)
        let failure = try #require(throws: AuthorityFailure.self) { try backoff.check(now: start + .milliseconds(250)) }
        #expect(failure.status == broken.status)
        #expect(failure.error.code == broken.error.code)
        #expect(failure.error.isRetryable)
        #expect(failure.error.message.contains("in 1 s"))
        #expect((failure.error.cause as? ApproovError)?.message == broken.error.message)
        #expect(failure.retryAfter == .milliseconds(750))
    }
}
