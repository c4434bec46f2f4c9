/// What ``TokenAuthorizer`` did to a request.
enum TokenOutcome: Sendable {
    /// The host or the URL gets no token; the header fields are unchanged.
    case notAttested
    /// The request is sent without a token, although its host gets tokens.
    case withoutToken
    /// The request carries this token.
    case attached(SentToken)

    /// The token that the request carries; nil if it carries none.
    var attached: SentToken? {
        guard case .attached(let token) = self else { return nil }
        return token
    }
}
