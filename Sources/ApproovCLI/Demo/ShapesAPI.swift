import ApproovTokenCheck
import ApproovTesting
import ApproovTokens
import Attestation
import Hummingbird

/// The demo's protected API, written as a backend developer would.
enum ShapesAPI {
    static let hello = "/v1/hello"
    static let shapes = "/v1/shapes"
    static let orders = "/v1/orders"
    static let bindingHeader = "Authorization"

    /// Serves `/v1/hello` to all, `/v1/shapes` to requests whose token verifies and is bound to their Authorization, and `/v1/orders` to
    /// those that the app also signed.
    static func start(certificate: TestCertificate, verifier: TokenVerifier) async throws -> TestHTTPServer {
        let router = Router(context: BasicSignatureCheckedRequestContext.self)
        router.get("v1/hello") { _, _ in "hello" }
        let checked = router.group("v1")
            .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: [bindingHeader], pay: .required))
        checked.get("shapes") { _, context in
            let token = try context.requireVerifiedToken()
            return "a square for device \(token.claims.did ?? "unknown")"
        }
        checked.group().add(middleware: try SignatureCheckMiddleware())
            .post("orders") { request, context in
                _ = try context.requireVerifiedSignature()
                return "ordered: \(String(buffer: try await request.body.collect(upTo: 1_024)))"
            }
        return try await TestHTTPServer.start(certificate: certificate, responder: router.buildResponder())
    }
}
