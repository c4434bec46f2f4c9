import ApproovTokenCheck
import ApproovTesting
import ApproovTokens
import Attestation
import HTTPTypes
import Hummingbird

/// The demo's protected API, written as a backend developer would.
enum ShapesAPI {
    static let hello = "/v1/hello"
    static let shapes = "/v1/shapes"
    static let orders = "/v1/orders"
    static let payments = "/v1/payments"
    static let map = "/v1/map"
    static let keyHeader = "Api-Key"
    /// The key of the secure string that `/v1/map` demands; the app knows the key alone.
    static let mapKey = "map-key"
    static let bindingHeader = "Authorization"

    /// Serves `/v1/hello` to all, and `/v1/shapes` to requests whose token verifies and is bound to their Authorization.
    ///
    /// `/v1/orders` also demands the app's signature, `/v1/payments` lets each limited-use token pass once, and `/v1/map` demands a secret in
    /// the header Api-Key.
    static func start(
        certificate: TestCertificate, verifier: TokenVerifier, secret: String? = nil
    ) async throws -> TestHTTPServer {
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
        router.group("v1")
            .add(
                middleware: try TokenCheckMiddleware(
                    verifier: verifier, bindingHeaders: [bindingHeader], pay: .required, consuming: MemoryReplayStore())
            )
            .get("payments") { _, _ in "paid" }
        if let secret, let name = HTTPField.Name(keyHeader) {
            router.group("v1")
                .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: [bindingHeader], pay: .required))
                .get("map") { request, _ in
                    guard request.headers[name] == secret else { throw HTTPError(.forbidden) }
                    return "a map"
                }
        }
        return try await TestHTTPServer.start(certificate: certificate, responder: router.buildResponder())
    }
}
