/// A message that is signed or verified.
public enum SignableMessage: Sendable {
    /// A request.
    case request(SignableRequest)
    /// A response.
    case response(SignableResponse)
}
