import ApproovTokenCheck
import ApproovTokens
import Attestation
import Hummingbird

/// Makes the API's routes: `/` is open, `/shapes` wants a token that is bound to the request's Authorization header.
func shapesAPI(checkingTokensWith verifier: TokenVerifier) throws -> Router<BasicTokenCheckedRequestContext> {
    let router = Router(context: BasicTokenCheckedRequestContext.self)
    router.get { _, _ in "shapes are at /shapes" }
    router.group()
        .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: ["Authorization"]))
        .get("shapes") { _, context in
            let token = try context.requireVerifiedToken()
            return "a shape for \(token.claims.did ?? "an unnamed device")"
        }
    return router
}
