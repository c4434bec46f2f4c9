/// The outcome of a token fetch.
enum TokenFetchOutcome: Sendable {
    /// A token that is valid for `lifetime`, counted from `since`.
    case token(TokenFetchResult, lifetime: Duration, since: Duration)
    /// No token; the fetch has told the ``AuthorityBackoff``, unless it hangs.
    case failure(TokenFetchResult)

    /// What the fetch brought.
    var result: TokenFetchResult {
        switch self {
        case .token(let result, _, _): result
        case .failure(let result): result
        }
    }
}
