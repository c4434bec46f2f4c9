public import ApproovTokens
public import Hummingbird

/// A request context that carries the token that `TokenCheckMiddleware` verified.
///
/// Add the property to the context you have, or use `BasicTokenCheckedRequestContext`. A `VerifiedToken` comes from a
/// `TokenVerifier` and from nowhere else, so a handler that holds one knows that the check was made.
public protocol TokenCheckedRequestContext: RequestContext {
    /// What the middleware verified; nil before it ran.
    var verifiedToken: VerifiedToken? { get set }
}

extension TokenCheckedRequestContext {
    /// The verified token.
    /// - Returns: the token
    /// - Throws: `TokenCheckError.tokenMissing`, which Hummingbird answers with 500, when the route is not behind a `TokenCheckMiddleware`
    public func requireVerifiedToken() throws -> VerifiedToken {
        guard let verifiedToken else {
            throw TokenCheckError(
                .tokenMissing, "this route is not behind a TokenCheckMiddleware; add it to the route's group")
        }
        return verifiedToken
    }
}

/// Hummingbird's basic context and the verified token.
public struct BasicTokenCheckedRequestContext: TokenCheckedRequestContext {
    /// Hummingbird's part.
    public var coreContext: CoreRequestContextStorage
    /// What the middleware verified; nil before it ran.
    public var verifiedToken: VerifiedToken?

    /// Makes the context of a request.
    /// - Parameter source: where the request came from
    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        verifiedToken = nil
    }
}
