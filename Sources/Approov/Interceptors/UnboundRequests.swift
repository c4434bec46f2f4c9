public import FoundationNetworking

/// What happens to a request to a protected host that lacks the header its token is bound to.
public enum UnboundRequests: Sendable {
    /// It is refused with ``ApproovError/Code/bindingMissing``.
    case refused
    /// It gets a token that is bound to nothing.
    case allowed
    /// It gets a token that is bound to nothing where the predicate says so, as for a login call; others are refused.
    case allowedWhere(@Sendable (URLRequest) -> Bool)

    func allow(_ request: URLRequest) -> Bool {
        switch self {
        case .refused: false
        case .allowed: true
        case .allowedWhere(let predicate): predicate(request)
        }
    }
}
