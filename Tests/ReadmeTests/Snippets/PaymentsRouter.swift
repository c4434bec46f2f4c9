import ApproovReplayStores
import ApproovTokenCheck
import ApproovTokens
import Attestation
import Hummingbird

func payments(verifier: TokenVerifier, usedTokens: String) throws -> Router<BasicTokenCheckedRequestContext> {
    let router = Router(context: BasicTokenCheckedRequestContext.self)
    router.group()
        .add(middleware: try TokenCheckMiddleware(verifier: verifier, refusing: ["dev-key", "always-pass"]))
        .add(middleware: try TokenConsumingMiddleware(store: try SQLiteReplayStore(path: usedTokens)))
        .post("payments") { _, context in
            "paid for \(try context.requireVerifiedToken().claims.did ?? "an unnamed device")"
        }
    return router
}
