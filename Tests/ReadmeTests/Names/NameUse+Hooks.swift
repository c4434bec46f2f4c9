import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

/// Counts the calls of each hook, and otherwise decides as the standard policy.
private struct CountingPolicy: AttestationPolicy {
    let calls = Shared<[String]>([])

    func shouldAttest(_ request: URLRequest) async throws -> Bool {
        calls.change { $0.append("shouldAttest") }
        return true
    }

    func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
        calls.change { $0.append("decide") }
        return try await StandardPolicy().decide(result, for: request)
    }

    func decide(_ result: TokenFetchResult, forPrecheckOf host: String) async throws -> TokenDecision {
        calls.change { $0.append("precheck of \(host)") }
        return try await StandardPolicy().decide(result, forPrecheckOf: host)
    }

    func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest {
        calls.change { $0.append("didPrepare \(changes.tokenHeader ?? "")") }
        return request
    }
}

private struct Marker: RequestInterceptor {
    func adapt(_ request: URLRequest) async throws -> URLRequest {
        var request = request
        request.setValue("yes", forHTTPHeaderField: "X-Marked")
        return request
    }
}

extension NameUse {
    /// The calls of the policy's hooks during one request.
    private static func calls(in world: World) async throws -> [String] {
        let policy = CountingPolicy()
        var settings = ApproovSessionConfiguration()
        settings.policy = policy
        _ = try await ApproovSession(service: world.service, configuration: settings).data(from: url)
        return policy.calls.value
    }

    static let hooks: [NameUse] = [
        NameUse("ApproovServiceMutator, setServiceMutator, getServiceMutator") { (world) async throws in
            let policy: any AttestationPolicy = CountingPolicy()
            var settings = ApproovSessionConfiguration()
            settings.policy = policy
            _ = try ApproovSession(service: world.service, configuration: settings)
        },
        NameUse("setApproovInterceptorExtensions, getApproovInterceptorExtensions") { (world) async throws in
            let interceptor: any RequestInterceptor = Marker()
            var settings = ApproovSessionConfiguration()
            settings.interceptors = [interceptor]
            _ = try await ApproovSession(service: world.service, configuration: settings).data(from: url)
            #expect(world.apiRequests.first?.headerFields.contains { $0.name.canonicalName == "x-marked" } == true)
        },
        NameUse("handlePrecheckResult") { (world) async throws in
            let policy = CountingPolicy()
            world.authority.script.value.secureStrings = [:]
            try await world.service.precheck(policy: policy)
            #expect(policy.calls.value == ["precheck of api.test"])
            let hooks: any AttestationPolicy = policy
            let result = await world.service.fetchToken(for: url)
            #expect(try await hooks.decide(result, forPrecheckOf: "api.test") == .attach)
        },
        NameUse("handleFetchTokenResult") { (world) async throws in
            world.authority.script.value.fault = { _ in throw TransportError(.connectionFailed, "no") }
            let result: TokenFetchResult = await world.service.fetchToken(for: url)
            #expect(result.status == .noNetwork && result.error?.code == .networkingError)
        },
        NameUse("handleFetchSecureStringResult") { (world) async throws in
            let policy: any AttestationPolicy = StandardPolicy()
            let result = await world.service.fetchToken(for: url)
            #expect(try await policy.decide(result, forSecureString: "key", in: nil) == .attach)
        },
        NameUse("handleFetchCustomJWTResult") { (world) async throws in
            let policy: any AttestationPolicy = StandardPolicy()
            let result = await world.service.fetchToken(for: url)
            #expect(try await policy.decide(result, forCustomTokenTo: "partner.test") == .attach)
        },
        NameUse("handleInterceptorShouldProcessRequest") { (world) async throws in
            #expect(try await calls(in: world).contains("shouldAttest"))
            let hooks: any AttestationPolicy = StandardPolicy()
            #expect(try await hooks.shouldAttest(URLRequest(url: url)))
        },
        NameUse("handleInterceptorFetchTokenResult") { (world) async throws in
            #expect(try await calls(in: world).contains("decide"))
            let hooks: any AttestationPolicy = StandardPolicy()
            #expect(try await hooks.decide(world.service.fetchToken(for: url), for: URLRequest(url: url)) == .attach)
        },
        NameUse("handleInterceptorHeaderSubstitutionResult, handleInterceptorQueryParamSubstitutionResult") { (world) async throws in
            let policy: any AttestationPolicy = StandardPolicy()
            let result = await world.service.fetchToken(for: url)
            #expect(try await policy.decide(result, forSecureString: "key", in: URLRequest(url: url)) == .attach)
        },
        NameUse("handleInterceptorProcessedRequest") { (world) async throws in
            #expect(try await calls(in: world).contains("didPrepare Approov-Token"))
            let hooks: any AttestationPolicy = StandardPolicy()
            #expect(try await hooks.didPrepare(URLRequest(url: url), changes: RequestChanges()).url == url)
        },
        NameUse("ApproovRequestMutations") { (_) async throws in
            let changes = RequestChanges(tokenHeader: "Approov-Token")
            #expect(changes.tokenHeader == "Approov-Token" && changes.traceIDHeader == nil)
            #expect(changes.substitutedHeaders.isEmpty && changes.substitutedQueryParameters.isEmpty)
        },
        NameUse("ShouldProceed") { (_) async throws in _ = TokenDecision.attach },
        NameUse("ShouldRetry") { (_) async throws in
            #expect(TokenDecision.fail != .attach)
            #expect(ApproovError(.networkingError, "no network").isRetryable)
        },
        NameUse("ShouldFail") { (_) async throws in _ = TokenDecision.fail },
        NameUse("ShouldIgnore") { (_) async throws in _ = TokenDecision.sendWithout(status: false) },
    ]
}
