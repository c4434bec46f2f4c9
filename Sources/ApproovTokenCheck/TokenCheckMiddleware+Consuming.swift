public import ApproovTokens

extension TokenCheckMiddleware {
    /// Creates a check with fixed keys that lets each limited-use token pass once.
    ///
    /// It consumes a token after all its own checks have passed, and before the next handler runs. If other checks follow it, leave the
    /// consumption to a ``TokenConsumingMiddleware`` behind them: a request that they refuse must not use up its token.
    ///
    /// A token without `jti`, or one that was used before, gets 401. When the store fails, is full, or does not answer in time, the request
    /// gets 503 with `Retry-After`, and never reaches the handler.
    /// - Parameters:
    ///   - verifier: The verifier, with the keys and optionally the audience to check.
    ///   - header: The name of the token header.
    ///   - prefix: The text before the token in that header, such as `"Bearer "`; compared exactly.
    ///   - bindingHeaders: The headers that tokens are bound to, in order.
    ///   - pay: Whether tokens must be bound; nil means `.required` with binding headers and `.ignored` without.
    ///   - annotations: The annotations (claim `anno`) with which a token is refused although it verifies; such a token is not consumed.
    ///   - store: The store that remembers used tokens.
    ///   - storeTimeout: How long to wait for the store: above zero, at most 60 seconds.
    ///   - replays: What happens to a token that was used before.
    /// - Throws: ``TokenCheckError`` with the codes of ``init(verifier:header:prefix:bindingHeaders:pay:refusing:)``; with code
    ///   `invalidConfiguration` when the timeout is out of range.
    public init(
        verifier: TokenVerifier, header: String = TokenCheckHeaders.standardTokenName, prefix: String = "", bindingHeaders: [String] = [],
        pay: PayPolicy? = nil, refusing annotations: Set<String> = [], consuming store: any ReplayStore,
        storeTimeout: Duration = TokenConsumer.standardTimeout, replays: ReplayPolicy = .refused
    ) throws {
        try self.init(
            verifier: verifier, header: header, prefix: prefix, bindingHeaders: bindingHeaders, pay: pay, refusing: annotations)
        consumer = try TokenConsumer(store: store, timeout: storeTimeout, policy: replays)
    }

    /// Creates a check whose keys may change while it runs, and that lets each limited-use token pass once.
    ///
    /// It consumes tokens as ``init(verifier:header:prefix:bindingHeaders:pay:refusing:consuming:storeTimeout:replays:)`` says.
    /// - Parameters:
    ///   - verifierProvider: Returns the verifier; called for every request, so it should return a stored one.
    ///   - header: The name of the token header.
    ///   - prefix: The text before the token in that header, such as `"Bearer "`; compared exactly.
    ///   - bindingHeaders: The headers that tokens are bound to, in order.
    ///   - pay: Whether tokens must be bound; nil means `.required` with binding headers and `.ignored` without.
    ///   - annotations: The annotations (claim `anno`) with which a token is refused although it verifies; such a token is not consumed.
    ///   - store: The store that remembers used tokens.
    ///   - storeTimeout: How long to wait for the store: above zero, at most 60 seconds.
    ///   - replays: What happens to a token that was used before.
    /// - Throws: ``TokenCheckError`` with the codes of ``init(verifierProvider:header:prefix:bindingHeaders:pay:refusing:)``; with code
    ///   `invalidConfiguration` when the timeout is out of range.
    public init(
        verifierProvider: @escaping @Sendable () -> TokenVerifier, header: String = TokenCheckHeaders.standardTokenName,
        prefix: String = "", bindingHeaders: [String] = [], pay: PayPolicy? = nil, refusing annotations: Set<String> = [],
        consuming store: any ReplayStore, storeTimeout: Duration = TokenConsumer.standardTimeout, replays: ReplayPolicy = .refused
    ) throws {
        try self.init(
            verifierProvider: verifierProvider, header: header, prefix: prefix, bindingHeaders: bindingHeaders, pay: pay,
            refusing: annotations)
        consumer = try TokenConsumer(store: store, timeout: storeTimeout, policy: replays)
    }
}
