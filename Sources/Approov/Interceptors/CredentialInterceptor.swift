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
}
