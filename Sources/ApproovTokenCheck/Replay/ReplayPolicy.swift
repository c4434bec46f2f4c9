/// What a check does with a limited-use token that was used before.
public enum ReplayPolicy: Sendable {
    /// The check answers 401.
    case refused
    /// The request reaches the handler, although its token was used before.
    ///
    /// The handler must look at `context.isReplay` and decide. Use it to find out which calls would be refused, before you refuse them. A
    /// store that fails still gives 503.
    case dangerouslyPassedToHandler
}
