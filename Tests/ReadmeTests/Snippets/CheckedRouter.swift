import ApproovTokenCheck
import ApproovTokens
import Attestation
import Hummingbird

func router(secret: String) throws -> Router<BasicTokenCheckedRequestContext> {
    let verifier = try TokenVerifier(keys: [.hs256(AccountSecret(base64: secret))], audience: "api.example.com")
    let router = Router(context: BasicTokenCheckedRequestContext.self)
    router.group()
        .add(middleware: try TokenCheckMiddleware(verifier: verifier, bindingHeaders: ["Authorization"]))
        .get("shapes") { _, context in
            let token = try context.requireVerifiedToken()
            return "a shape for \(token.claims.did ?? "an unnamed device")"
        }
    return router
}
