import ApproovTokenCheck
import ApproovTokens
import Hummingbird

/// What the server knows of a request: its verified attestation token, and its user.
struct NotesContext: TokenCheckedRequestContext {
    var coreContext: CoreRequestContextStorage
    var verifiedToken: VerifiedToken?
    /// Set by ``UserMiddleware``.
    var user: String?
    /// The most bytes of a form or of a JSON body.
    var maxUploadSize: Int { 16 * 1_024 }

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
    }

    /// The user; a route that is not behind ``UserMiddleware`` has none, and answers 500.
    func requireUser() throws -> String {
        guard let user else { throw HTTPError(.internalServerError) }
        return user
    }
}

/// Answers 401 to requests without a valid access token (RFC 6750, section 3).
struct UserMiddleware: RouterMiddleware {
    let logins: LoginStore

    func handle(
        _ request: Request, context: NotesContext, next: (Request, NotesContext) async throws -> Response
    ) async throws -> Response {
        let words = (request.headers[.authorization] ?? "").split(separator: " ")
        guard words.count == 2, words[0] == "Bearer", let user = logins.user(ofAccessToken: String(words[1])) else {
            return Response(status: .unauthorized, headers: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
        }
        var context = context
        context.user = user
        return try await next(request, context)
    }
}
