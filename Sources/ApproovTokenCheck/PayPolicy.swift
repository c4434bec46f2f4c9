/// How a token check treats the claim `pay`, which binds a token to a request's headers.
public enum PayPolicy: Sendable {
    /// The token must be bound to this request's binding headers.
    case required
    /// A bound token must match this request's binding headers; an unbound token passes.
    case optional
    /// The claim is ignored.
    case ignored
}
