package import HTTPTypes

extension HTTPRequest.Method {
    /// Whether sending a request with this method twice has the same effect as sending it once (RFC 9110, section 9.2.2).
    package var isIdempotent: Bool {
        switch self {
        case .get, .head, .options, .put, .delete, .trace: true
        default: false
        }
    }
}
