import Foundation
import Hummingbird

/// Adds the endpoints that the app calls to get, renew and revoke tokens (RFC 6749, section 3.2; RFC 7009).
func addTokenEndpoints(to group: some RouterMethods<NotesContext>, logins: LoginStore) {
    group.post("token") { request, context in
        let form = try await URLEncodedFormDecoder().decode([String: String].self, from: request, context: context)
        guard form["client_id"] == LoginRequest.clientID else { return try refusal("invalid_client") }
        let tokens: Logins.Tokens?
        switch form["grant_type"] {
        case "authorization_code":
            guard let code = form["code"], let verifier = form["code_verifier"], let redirectURI = form["redirect_uri"] else {
                return try refusal("invalid_request")
            }
            tokens = logins.redeem(code, verifier: verifier, redirectURI: redirectURI)
        case "refresh_token":
            guard let token = form["refresh_token"] else { return try refusal("invalid_request") }
            tokens = logins.refresh(token)
        default:
            return try refusal("unsupported_grant_type")
        }
        guard let tokens else { return try refusal("invalid_grant") }
        return try json(
            TokenResponse(
                access_token: tokens.access, token_type: "Bearer", expires_in: Int(Logins.accessLifetime), refresh_token: tokens.refresh),
            .ok)
    }
    group.post("revoke") { request, context in
        let form = try await URLEncodedFormDecoder().decode([String: String].self, from: request, context: context)
        if let token = form["token"] { logins.revoke(token) }
        return HTTPResponse.Status.ok
    }
}

/// An answer with tokens (RFC 6749, section 5.1).
private struct TokenResponse: Encodable {
    let access_token: String
    let token_type: String
    let expires_in: Int
    let refresh_token: String
}

/// An error (RFC 6749, section 5.2).
private func refusal(_ error: String) throws -> Response { try json(["error": error], .badRequest) }

private func json(_ value: some Encodable, _ status: HTTPResponse.Status) throws -> Response {
    Response(
        status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
        body: .init(byteBuffer: ByteBuffer(data: try JSONEncoder().encode(value))))
}
