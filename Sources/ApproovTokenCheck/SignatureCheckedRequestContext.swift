public import ApproovTokens
public import Hummingbird
public import MessageSignatures

/// A request context that carries the signature that `SignatureCheckMiddleware` verified, beside the token.
///
/// Add the properties to your own context, or use `BasicSignatureCheckedRequestContext`. Only a `SignatureVerifier` creates a
/// `VerifiedSignature`, so a handler that holds one knows that what the signature covers is as it was signed. The same request may come again
/// until its signature is too old.
public protocol SignatureCheckedRequestContext: TokenCheckedRequestContext {
    /// The verified signature; nil before the middleware has run.
    var verifiedSignature: VerifiedSignature? { get set }
}

extension SignatureCheckedRequestContext {
    /// Returns the verified signature.
    /// - Returns: The signature.
    /// - Throws: ``TokenCheckError`` with code `signatureMissing` when no `SignatureCheckMiddleware` precedes the route; Hummingbird answers
    ///   it with 500.
    public func requireVerifiedSignature() throws -> VerifiedSignature {
        guard let verifiedSignature else {
            throw TokenCheckError(
                .signatureMissing, "this route is not behind a SignatureCheckMiddleware; add the middleware to the route's group")
        }
        return verifiedSignature
    }
}

/// Hummingbird's basic request context, extended by the verified token and the verified signature.
public struct BasicSignatureCheckedRequestContext: SignatureCheckedRequestContext {
    /// Hummingbird's storage.
    public var coreContext: CoreRequestContextStorage
    /// The verified token; nil before `TokenCheckMiddleware` has run.
    public var verifiedToken: VerifiedToken?
    /// The verified signature; nil before `SignatureCheckMiddleware` has run.
    public var verifiedSignature: VerifiedSignature?

    /// Creates the context of a request.
    /// - Parameter source: The source of the request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        verifiedToken = nil
        verifiedSignature = nil
    }
}
