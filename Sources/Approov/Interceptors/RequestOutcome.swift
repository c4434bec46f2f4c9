public import FoundationNetworking

/// The outcome of sending a request once.
public enum RequestOutcome: Sendable {
    /// A response arrived; this is its head.
    case response(HTTPURLResponse)
    /// No response arrived, or a validator refused it.
    case failure(any Error)
}
