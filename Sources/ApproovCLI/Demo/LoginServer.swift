import ApproovTesting
import Foundation
import HTTPTypes

/// The demo's authorization server (RFC 6749): it logs users in, and exchanges each refresh token once.
enum LoginServer {
    static let token = "/token"
    static let passwords = ["alice": "wonderland", "bob": "workbench"]

    /// Starts the server, at which refreshes wait until a crowd has been refused.
    static func start(
        certificate: TestCertificate, tokens: UserTokens, holdingRefreshesUntil crowdIsRefused: Gate
    ) async throws -> TestHTTPServer {
        try await TestHTTPServer.start(certificate: certificate) { request in
            guard request.path == token else { return TestResponse(.notFound) }
            let form = Form(try await request.body.collect(upTo: 1_024))
            guard let pair = try await issue(form, tokens, crowdIsRefused) else {
                return TestResponse(.badRequest, text: #"{"error":"invalid_grant"}"#)
            }
            return TestResponse(
                headerFields: [.contentType: "application/json", .cacheControl: "no-store"],
                body: Array(try JSONEncoder().encode(pair)))
        }
    }

    /// Issues what a form asks for; nil if its password is wrong, or its refresh token is not valid.
    private static func issue(_ form: Form, _ tokens: UserTokens, _ crowdIsRefused: Gate) async throws -> TokenPair? {
        if let user = form["username"] {
            guard let password = form["password"], passwords[user] == password else { return nil }
            return tokens.logIn(user)
        }
        // A fast refresh could end before the last request of the crowd was sent with the expired token.
        try await crowdIsRefused.wait()
        return form["refresh_token"].flatMap(tokens.refresh)
    }

    /// The fields of a form.
    private struct Form {
        let items: [URLQueryItem]

        init(_ body: [UInt8]) { items = URLComponents(string: "?" + String(decoding: body, as: UTF8.self))?.queryItems ?? [] }

        subscript(_ name: String) -> String? { items.first { $0.name == name }?.value }
    }
}
