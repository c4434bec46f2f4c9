import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import MessageSignatures
import Testing

/// Fails every request that gets no token.
private struct StrictPolicy: AttestationPolicy {
    func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
        result.status == .success ? .attach : .fail
    }
}

extension NameUse {
    static let errors: [NameUse] = [
        NameUse("initializationError") { (_) async throws in _ = ApproovError.Code.initializationError },
        NameUse("configurationError") { (_) async throws in _ = ApproovError.Code.configurationError },
        NameUse("pinningError") { (_) async throws in _ = ApproovError.Code.pinningError },
        NameUse("networkingError") { (_) async throws in _ = ApproovError.Code.networkingError },
        NameUse("permanentError") { (_) async throws in _ = ApproovError.Code.permanentError },
        NameUse("rejectionError(message, ARC, rejectionReasons)") { (world) async throws in
            world.authority.script.value.rejectionReasons = ["debugger"]
            let result: TokenFetchResult = await world.service.fetchToken(for: url)
            #expect(result.rejectionReasons == ["debugger"])
            var settings = ApproovSessionConfiguration()
            settings.transport = world.transport
            let session = try ApproovSession(service: world.service, configuration: settings)
            await #expect(throws: ApproovError(ApproovError.Code.rejectionError, "")) { try await session.data(from: url) }
        },
    ]

    static let statuses: [NameUse] = [
        NameUse("SUCCESS") { (_) async throws in #expect(TokenFetchStatus.success.wireName == "SUCCESS") },
        NameUse("NO_NETWORK") { (_) async throws in #expect(TokenFetchStatus.noNetwork.wireName == "NO_NETWORK") },
        NameUse("MITM_DETECTED, UNTRUSTED_NETWORK") { (_) async throws in #expect(TokenFetchStatus.mitmDetected.wireName == "MITM_DETECTED")
        },
        NameUse("POOR_NETWORK") { (_) async throws in #expect(TokenFetchStatus.poorNetwork.wireName == "POOR_NETWORK") },
        NameUse("NO_APPROOV_SERVICE") { (_) async throws in #expect(TokenFetchStatus.noApproovService.wireName == "NO_APPROOV_SERVICE") },
        NameUse("BAD_URL") { (_) async throws in #expect(TokenFetchStatus.badURL.wireName == "BAD_URL") },
        NameUse("UNKNOWN_URL") { (_) async throws in #expect(TokenFetchStatus.unknownURL.wireName == "UNKNOWN_URL") },
        NameUse("UNPROTECTED_URL") { (_) async throws in #expect(TokenFetchStatus.unprotectedURL.wireName == "UNPROTECTED_URL") },
        NameUse("NOT_INITIALIZED") { (_) async throws in #expect(TokenFetchStatus.notInitialized.wireName == "NOT_INITIALIZED") },
        NameUse("REJECTED") { (_) async throws in #expect(TokenFetchStatus.rejected.wireName == "REJECTED") },
        NameUse("DISABLED") { (_) async throws in #expect(TokenFetchStatus.disabled.wireName == "DISABLED") },
        NameUse("UNKNOWN_KEY") { (_) async throws in #expect(TokenFetchStatus.unknownKey.wireName == "UNKNOWN_KEY") },
        NameUse("BAD_KEY") { (_) async throws in #expect(TokenFetchStatus.badKey.wireName == "BAD_KEY") },
        NameUse("BAD_PAYLOAD") { (_) async throws in #expect(TokenFetchStatus.badPayload.wireName == "BAD_PAYLOAD") },
        NameUse("INTERNAL_ERROR") { (_) async throws in #expect(TokenFetchStatus.internalError.wireName == "INTERNAL_ERROR") },
    ]

    static let newer: [NameUse] = [
        NameUse("Approov-Status") { (world) async throws in
            var header: TokenHeader = TokenHeader()
            #expect(header.statusName == nil)
            header.statusName = "Approov-Status"
            var settings = ApproovSessionConfiguration()
            settings.tokenHeader = header
            _ = try await ApproovSession(service: world.service, configuration: settings).data(from: url)
            #expect(world.apiRequests.first?.headerFields.contains { $0.value == "success" } == true)
        },
        NameUse("token header absent without a token") { (_) async throws in #expect(!TokenHeader().sendsStatusWithoutToken) },
        NameUse("CLOSE_FAILURE") { (_) async throws in #expect(!StandardPolicy().sendsWithoutTokenWhenAuthorityIsDown) },
        NameUse("ALWAYS_PROCEED") { (world) async throws in
            world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
            var settings = ApproovSessionConfiguration()
            settings.policy = StandardPolicy(sendsWithoutTokenWhenAuthorityIsDown: true)
            _ = try await ApproovSession(service: world.service, configuration: settings).data(from: url)
            #expect(world.apiRequests.count == 1)
        },
        NameUse("REQUIRE_ATTESTATION") { (world) async throws in
            let policy: any AttestationPolicy = StrictPolicy()
            let other = await world.service.fetchToken(for: URL(filePath: "/"))
            #expect(try await policy.decide(other, for: URLRequest(url: url)) == TokenDecision.fail)
        },
        NameUse("placeholder replaced by the status") { (_) async throws in _ = TokenDecision.sendWithout(status: true) },
        NameUse("binding set and fetch in one step") { (world) async throws in
            let service = world.service
            async let one = service.fetchToken(for: url, binding: "one")
            async let two = service.fetchToken(for: url, binding: "two")
            #expect(await one.token != two.token)
        },
        NameUse("hosts outside the pin set never fail") { (_) async throws in
            #expect(!ApproovTrustManager().allHostsMustBeEvaluated)
            #expect(ApproovTrustManager(allHostsMustBeEvaluated: true).allHostsMustBeEvaluated)
        },
        NameUse("each component covered once") { (_) async throws in
            let parameters = SignatureParameters([.method, .method])
            let request = try SignableRequest(method: "GET", target: TargetURI("https://api.test/"), fields: [:])
            #expect { try SignatureBase(.request(request), parameters: parameters) } throws: {
                ($0 as? MessageSignatureError)?.code == MessageSignatureError.Code.duplicateComponent
            }
        },
    ]
}
