import ApproovTesting
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

@Suite struct AuthorityBackoffTests {
    private let broken = AuthorityFailure(httpStatus: 500, problem: nil, retryAfter: nil)

    @Test("The backoff measures its pauses on the clock that it was given")
    func clock() throws {
        let clock = ManualClock()
        let backoff = AuthorityBackoff(time: clock)
        try backoff.check(.attestation)
        backoff.failed(broken)
        #expect(throws: AuthorityFailure.self) { try backoff.check(.attestation) }
        #expect(backoff.nextRefresh(afterFailures: 1) == clock.uptime + .seconds(1))
        clock.advance(by: .seconds(1))
        try backoff.check(.attestation)
    }

    @Test("A pause that the authority requested lasts its full time, even after a success")
    func hold() throws {
        let clock = ManualClock()
        let backoff = AuthorityBackoff(time: clock)
        backoff.held(for: .seconds(7))
        backoff.succeeded()
        clock.advance(by: .milliseconds(6_999))
        #expect(throws: AuthorityFailure.self) { try backoff.check(.exchange) }
        clock.advance(by: .milliseconds(1))
        try backoff.check(.exchange)
    }

    @Test(
        "Retry-After in the answer to a configuration request also pauses attestations, however long its page is", arguments: [0, 20_000])
    func oneForAll(bytes: Int) async throws {
        let world = try World()
        world.authority.script.value.fault = { request in
            guard request.url.target.hasPrefix("/v1/configuration") else { return nil }
            return TransportResponse(
                status: 503, headerFields: [.retryAfter: "30"], url: request.url,
                body: ResponseBody(bytes: [UInt8](repeating: 0x20, count: bytes)))
        }
        await #expect(throws: ApproovError(.networkingError, "")) { try await world.service.refreshConfiguration() }
        let url = try #require(URL(string: "https://api.test/"))
        let result = await world.service.fetchToken(for: url)
        #expect(result.status == .noApproovService && result.error?.message.contains("the authority is busy") == true)
        #expect(world.authority.seen.value.challenges == 0)
        world.clock.advance(by: .seconds(30))
        #expect(await world.service.fetchToken(for: url).status == .success)
    }
}
