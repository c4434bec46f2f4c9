package import HTTPClient
package import HTTPTypes

/// An interceptor that only adds a credential, in one header that requests may have already.
///
/// The session adds it to the header fields themselves, because Foundation takes longer to copy a request than the session for the rest. It
/// does not ask for it after a redirect to another origin.
package protocol CredentialInterceptor: RequestInterceptor {
    /// The name of the header that carries the credential.
    var fieldName: HTTPField.Name { get }

    /// Returns the credential for a request without one; called in place of ``RequestInterceptor/adapt(_:)``.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The header's value; nil if the URL's host gets none.
    /// - Throws: What ``RequestInterceptor/adapt(_:)`` throws.
    func fieldValue(for url: TransportURL) async throws -> String?

    /// Does the same without waiting, if that is possible; called first.
    ///
    /// - Parameter url: The URL of the request.
    /// - Returns: The header's value, or that the session must wait for it.
    /// - Throws: What ``RequestInterceptor/adapt(_:)`` throws.
    func fieldValueAtOnce(for url: TransportURL) throws -> ImmediateFieldValue

    /// Whether an outcome refuses the credential; ``retryRefused(_:)`` then decides, and otherwise the request is not sent again.
    func isRefused(_ exchange: RequestExchange) -> Bool

    /// Renews a refused credential, which may wait, and decides whether to send the request again.
    func retryRefused(_ exchange: RequestExchange) async -> RetryDecision

    /// Begins to renew a refused credential for later requests, without a wait: this request cannot be sent again.
    func renewRefused(_ exchange: RequestExchange)
}

/// The value of a header that an interceptor adds, or that it is not known yet.
package enum ImmediateFieldValue: Sendable {
    /// The value; nil if the request gets none.
    case known(String?)
    /// The session must wait for the value.
    case awaited
}
