import Approov
import Foundation
import FoundationNetworking

/// Sends reports without a token while there is no network to the authority, and tells the API why.
struct LenientPolicy: AttestationPolicy {
    func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
        let isReport = request.url?.path() == "/reports"
        if isReport, [.noNetwork, .poorNetwork].contains(result.status) { return .sendWithout(status: true) }
        return try await StandardPolicy().decide(result, for: request)
    }
}

func lenientSession(service: ApproovService) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.policy = LenientPolicy()
    configuration.excludedURLs = [try URLGlob("https://api.example.com/public/**")]
    return try ApproovSession(service: service, bindHeader: "Authorization", configuration: configuration)
}
