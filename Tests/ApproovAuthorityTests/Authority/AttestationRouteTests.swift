import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@testable import ApproovAuthority

/// What `/v1/attestations` answers under the account's policies.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct AttestationRouteTests {
    /// A running authority and the account behind it.
    private struct Route {
        let account: AuthorityBench
        let authority: RunningAuthority
        let transport: CurlTransport

        /// Posts evidence and returns the status and the body.
        func post(_ change: (inout Evidence) -> Void = { _ in }) async throws -> (status: Int, body: JSONValue) {
            let evidence = try account.evidence {
                $0.aud = authority.url.absoluteString
                change(&$0)
            }
            let response = try await authority.send(
                "/v1/attestations", method: .post, headers: [.contentType: Evidence.mediaType], body: evidence, over: transport)
            return (response.status, try JSONValue(reading: response.body, limit: 1 << 20))
        }

        /// Posts evidence that is judged.
        func attest(_ change: (inout Evidence) -> Void = { _ in }) async throws -> AttestationResult {
            let response = try await post(change)
            try #require(response.status == 200)
            return try AttestationResult(json: response.body)
        }
    }

    private func withRoute(_ body: (Route) async throws -> Void) async throws {
        let account = try await AuthorityBench(clock: ManualClock(date: Date()))
        let transport = try CurlTransport()
        try await RunningAuthority.with(store: account.store, configuration: .loopback(), time: account.clock) { authority in
            try await body(Route(account: account, authority: authority, transport: transport))
        }
        transport.shutdown()
    }

    @Test("A change of the policy's claims is in the next token")
    func claims() async throws {
        try await withRoute { route in
            let before = try unverifiedParts(of: try await route.attest().token).claims
            #expect(before.iss == nil && before.sub == nil && before.aud == AuthorityBench.host && before.ipk != nil)
            try await route.account.store.setNamesIssuer(true)
            try await route.account.store.setNamesSubject(true)
            try await route.account.store.setNamesAudience(false)
            try await route.account.store.setIncludesInstallationKey(false)
            let after = try route.account.verify(try await route.attest().token, audience: nil).claims
            #expect(after.iss == route.account.store.account && after.sub == before.did.map { "approov|" + $0 })
            #expect(after.aud == nil && after.ipk == nil)
        }
    }

    @Test("Evidence for limited use is answered with a token that has a jti and lives 60 seconds")
    func limitedUse() async throws {
        try await withRoute { route in
            let result = try await route.attest { $0.limitedUse = true }
            let claims = try route.account.verify(result.token).claims
            #expect(result.expiresIn == 60 && claims.exp - (claims.iat ?? 0) == 60)
            #expect(Base64URL.decode(try #require(claims.jti))?.count == 16)
            #expect(try route.account.verify(try await route.attest().token).claims.jti == nil)
        }
    }

    @Test("An executable whose registration expires while the authority runs is rejected, until it is registered again")
    func expiredRegistration() async throws {
        try await withRoute { route in
            let store = route.account.store
            try await store.setRejectionReasons(true)
            try await store.addRegistration(AuthorityBench.measurement, label: "beta", expiresAt: store.now + 60)
            _ = try route.account.verify(try await route.attest().token)
            route.account.clock.advance(by: .seconds(60))
            let expired = try await route.attest()
            #expect(expired.rejectionReasons == ["registration-expired"])
            #expect(throws: TokenError.self) { try route.account.verify(expired.token) }
            try await store.addRegistration(AuthorityBench.measurement, label: "beta", expiresAt: store.now + 60)
            _ = try route.account.verify(try await route.attest().token)
        }
    }

    @Test("The newest device is made to pass, then to fail, and is judged like others after its removal")
    func devices() async throws {
        try await withRoute { route in
            let store = route.account.store
            func attest() async throws -> String { try await route.attest { $0.measurements = [:] }.token }
            let rejected = try await attest()
            #expect(throws: TokenError.self) { try route.account.verify(rejected) }
            let deviceID = try #require(try await store.newestAttestation()).deviceID
            try await store.setDevicePolicy(.alwaysPass, for: deviceID)
            #expect(try route.account.verify(try await attest()).claims.anno == ["always-pass"])
            try await store.setDevicePolicy(.alwaysFail, for: deviceID)
            let failed = try await route.attest()
            #expect(throws: TokenError.self) { try route.account.verify(failed.token) }
            #expect(try store.decodeARC(failed.arc).reasons == [.alwaysFail])
            try await store.removeDevicePolicy(of: deviceID)
            _ = try route.account.verify(try await route.attest().token)
        }
    }

    @Test("The development key lets an unregistered build pass while the policy accepts it, and not after a change")
    func developmentKey() async throws {
        try await withRoute { route in
            let (account, store) = (route.account, route.account.store)
            try await store.setRejectionReasons(true)
            func attest(_ key: DevelopmentKey) async throws -> AttestationResult {
                try await route.attest {
                    $0.measurements = [:]
                    $0.developmentKey = key.proof(challenge: $0.challenge, installationKey: account.key.publicKey)
                }
            }
            try await store.changeDevelopmentKey()
            let key = try #require(store.developmentKey)
            #expect(try await attest(key).rejectionReasons == ["app-not-registered", "development-key-off"])
            try await store.setAcceptsDevelopmentKey(true)
            #expect(try account.verify(try await attest(key).token).claims.anno == ["dev-key"])
            try await store.changeDevelopmentKey()
            #expect(try await attest(key).rejectionReasons == ["app-not-registered", "development-key-wrong"])
        }
    }
}
