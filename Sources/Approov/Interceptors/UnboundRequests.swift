public import FoundationNetworking

/// The treatment of a request to a protected host that lacks the header its token is bound to.
public enum UnboundRequests: Sendable {
    /// The request is refused with ``ApproovError/Code/bindingMissing``.
    case refused
    /// The request gets a token that is not bound.
    case allowed
    /// The request gets a token that is not bound if the predicate returns true, for example for a login call; otherwise it is refused.
    case allowedWhere(@Sendable (URLRequest) -> Bool)

    func allow(_ request: URLRequest) -> Bool {
        switch self {
        case .refused: false
        case .allowed: true
        case .allowedWhere(let predicate): predicate(request)
        }
    }
}
