import Approov
import Foundation
import FoundationNetworking
import Synchronization

/// The app's client of the authorization server, written as an app developer would.
struct LoginClient {
    let session: ApproovSession
    /// The URL of the token endpoint.
    let url: URL

    func logIn(_ user: String) async throws -> TokenPair {
        try await ask([
            URLQueryItem(name: "grant_type", value: "password"), URLQueryItem(name: "username", value: user),
            URLQueryItem(name: "password", value: LoginServer.passwords[user]),
        ])
    }

    func refresh(_ refreshToken: String) async throws -> TokenPair {
        try await ask([
            URLQueryItem(name: "grant_type", value: "refresh_token"), URLQueryItem(name: "refresh_token", value: refreshToken),
        ])
    }

    private func ask(_ fields: [URLQueryItem]) async throws -> TokenPair {
        var form = URLComponents()
        form.queryItems = fields
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data((form.percentEncodedQuery ?? "").utf8)
        let (data, response) = try await session.data(for: request)
        guard response.statusCode == 200 else { throw DemoFailure("the authorization server answered \(response.statusCode)") }
        return try JSONDecoder().decode(TokenPair.self, from: data)
    }
}
