import Approov
import Foundation
import FoundationNetworking

protocol Credentials: Sendable {
    func accessToken() async throws -> String
    func renew() async
}

struct BearerInterceptor: RequestInterceptor {
    let host: String
    let credentials: any Credentials

    func adapt(_ request: URLRequest) async throws -> URLRequest {
        guard request.url?.host() == host else { return request }
        var request = request
        request.setValue("Bearer \(try await credentials.accessToken())", forHTTPHeaderField: "Authorization")
        return request
    }

    func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
        guard attempt == 1, case .response(let response) = outcome, response.statusCode == 401 else { return .doNotRetry }
        await credentials.renew()
        return .retry
    }
}
