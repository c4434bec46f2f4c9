internal import ApproovBase
internal import ApproovTokens
public import Hummingbird

/// Lets each limited-use token pass once: put it behind all other checks of a route, and directly in front of the handler.
///
///     router.group()
///         .add(middleware: try TokenCheckMiddleware(verifier: verifier))
///         .add(middleware: OtherChecks())
///         .add(middleware: try TokenConsumingMiddleware(store: store))
///         .post("payments") { request, context in … }
///
/// Where no other check follows the token check, `TokenCheckMiddleware(verifier:consuming:)` does the same in one middleware. A request that
/// an earlier check refuses does not reach this middleware, so its token stays unused.
///
/// - A token without `jti`, or one that was used before, gets 401 with an empty body.
/// - When the store fails, is full, or does not answer in time, the request gets 503 with `Retry-After`. It never reaches the handler. The
///   token may be used up then, so the client must fetch a new one.
///
/// The metric `approov_token_uses` counts the outcomes `first`, `replayed` and `unavailable`.
public struct TokenConsumingMiddleware<Context: TokenCheckedRequestContext>: RouterMiddleware {
    private let consumer: TokenConsumer
    /// The clock for the wait.
    var time: any TimeSource = SystemTimeSource()

    /// Creates the middleware.
    /// - Parameters:
    ///   - store: The store that remembers used tokens. All machines and processes behind one audience must share its records.
    ///   - storeTimeout: How long to wait for the store: above zero, at most 60 seconds.
    ///   - replays: What happens to a token that was used before.
    /// - Throws: ``TokenCheckError`` with code `invalidConfiguration` when the timeout is out of range.
    public init(store: any ReplayStore, storeTimeout: Duration = TokenConsumer.standardTimeout, replays: ReplayPolicy = .refused) throws {
        consumer = try TokenConsumer(store: store, timeout: storeTimeout, policy: replays)
    }

    /// Consumes the token of a request.
    /// - Parameters:
    ///   - request: The request.
    ///   - context: The context, with the verified token.
    ///   - next: The next handler, called only for requests that pass.
    /// - Returns: The next handler's response, 401 or 503.
    /// - Throws: ``TokenCheckError`` with code `tokenMissing` when no `TokenCheckMiddleware` precedes this one; any error that the next
    ///   handler throws.
    public func handle(_ request: Request, context: Context, next: (Request, Context) async throws -> Response) async throws -> Response {
        switch await consumer.consume(try context.requireVerifiedToken(), logger: context.logger, time: time) {
        case .refused: return .tokenRefused
        case .unavailable: return TokenConsumer.unavailableResponse
        case .passed(let token):
            var context = context
            context.verifiedToken = token
            return try await next(request, context)
        }
    }
}
