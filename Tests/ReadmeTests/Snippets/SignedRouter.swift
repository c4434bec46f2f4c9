import ApproovTokenCheck
import ApproovTokens
import Hummingbird

func signedRouter(verifier: TokenVerifier, publicURL: String) throws -> Router<BasicSignatureCheckedRequestContext> {
    let router = Router(context: BasicSignatureCheckedRequestContext.self)
    router.group()
        .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: ["Authorization"]))
        .add(middleware: try SignatureCheckMiddleware(publicURL: publicURL))
        .post("orders") { request, _ in
            "ordered \(String(buffer: try await request.body.collect(upTo: 1_024)))"
        }
    return router
}
