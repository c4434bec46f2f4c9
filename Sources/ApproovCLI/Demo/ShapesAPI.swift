import ApproovTokenCheck
import ApproovTesting
import ApproovTokens
import Attestation
import Hummingbird

/// The demo's protected API, written as a backend developer would.
enum ShapesAPI {
    static let hello = "/v1/hello"
    static let shapes = "/v1/shapes"
    static let bindingHeader = "Authorization"

    /// Serves `/v1/hello` to all, and `/v1/shapes` to requests whose token verifies and is bound to their Authorization.
    static func start(certificate: TestCertificate, verifier: TokenVerifier) async throws -> TestHTTPServer {
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        router.get("v1/hello") { _, _ in "hello" }
        router.group("v1")
            .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: [bindingHeader], pay: .required))
            .get("shapes") { _, context in
                let token = try context.requireVerifiedToken()
                return "a square for device \(token.claims.did ?? "unknown")"
            }
        return try await TestHTTPServer.start(certificate: certificate, responder: router.buildResponder())
    }
}
