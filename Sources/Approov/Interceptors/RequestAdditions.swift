/// What an interceptor adds to a request.
package struct RequestAdditions: Sendable {
    /// The headers, by name; one replaces the wrapped session's additional header of the name, but not what the request has.
    package var headers: [String: String]
    /// The idle timeout of a request without one; nil for none.
    package var timeout: Duration?

    package init(headers: [String: String], timeout: Duration? = nil) {
        self.headers = headers
        self.timeout = timeout
    }
}
