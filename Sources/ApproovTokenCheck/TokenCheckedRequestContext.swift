public import ApproovTokens
public import Hummingbird

/// A request context that carries the token that `TokenCheckMiddleware` verified.
///
/// Add the property to your own context, or use `BasicTokenCheckedRequestContext`. Only a `TokenVerifier` creates a `VerifiedToken`, so a
/// handler that holds one knows that the token was checked.
public protocol TokenCheckedRequestContext: RequestContext {
    /// The verified token; nil before the middleware has run.
    var verifiedToken: VerifiedToken? { get set }
}

extension TokenCheckedRequestContext {
    /// Returns the verified token.
    /// - Returns: The token.
    /// - Throws: ``TokenCheckError`` with code `tokenMissing` when no `TokenCheckMiddleware` precedes the route; Hummingbird answers it
    ///   with 500.
    public func requireVerifiedToken() throws -> VerifiedToken {
        guard let verifiedToken else {
            throw TokenCheckError(
                .tokenMissing, "this route is not behind a TokenCheckMiddleware; add the middleware to the route's group")
        }
        return verifiedToken
    }

    /// Whether the request's limited-use token was used before.
    ///
    /// It can be true only in a handler behind a check with ``ReplayPolicy/dangerouslyPassedToHandler``.
    public var isReplay: Bool { verifiedToken?.isReplay ?? false }
}

/// Hummingbird's basic request context, extended by the verified token.
public struct BasicTokenCheckedRequestContext: TokenCheckedRequestContext {
    /// Hummingbird's storage.
    public var coreContext: CoreRequestContextStorage
    /// The verified token; nil before the middleware has run.
    public var verifiedToken: VerifiedToken?

    /// Creates the context of a request.
    /// - Parameter source: The source of the request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        verifiedToken = nil
    }
}
