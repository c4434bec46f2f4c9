package import FoundationNetworking

/// An interceptor that knows only with the request which secret headers it adds.
package protocol SecretHeaderReporting: RequestInterceptor {
    /// Returns the request to send in place of `request`, as ``RequestInterceptor/adapt(_:)`` does.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - report: Takes the names of the headers with secret values that were added; logs and observers then do not show them.
    /// - Returns: The request to send.
    /// - Throws: Any error that prevents the request.
    func adapt(_ request: URLRequest, report: (Set<String>) -> Void) async throws -> URLRequest
}
