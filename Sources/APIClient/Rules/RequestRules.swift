public import Approov
@_spi(Internals) import ApproovBase
public import Foundation
public import FoundationNetworking
import HTTPClient

/// Settings for the URLs that match a pattern.
///
/// ```swift
/// var rules = RequestRules(base: url)
/// try rules.configure("**", description: "auth token") { $0.headers["X-Auth-Token"] = holder.token }
/// try rules.configure("reports/**", description: "slow reports") { $0.timeout = .seconds(300) }
/// ```
///
/// All rules that match apply, in their order, so that later rules win. They run again for each request and each retry, so a changed value
/// takes effect with the next one. They also run again for each redirect, so a header of a rule does not go to a URL that the rule does not
/// match. After a redirect to another origin, only headers with known names go along, such as Accept-Language, because the URL came from a
/// server and another header may be a credential. If your own interceptor calls ``adapt(_:)``, it must drop the other headers itself.
///
/// Patterns are matched with the path as it is sent, after dot segments have been removed, even percent-encoded ones. The query does not
/// count.
public struct RequestRules: AddingInterceptor, ResponseValidating {
    private enum Scope: Sendable {
        case glob(URLGlob)
        case predicate(@Sendable (URL) -> Bool)
    }

    /// A class, so that a look-up copies one reference for each rule.
    private final class Rule: Sendable {
        let scope: Scope
        let description: String
        let change: @Sendable (inout ScopedConfiguration) -> Void

        init(_ scope: Scope, _ description: String, _ change: @escaping @Sendable (inout ScopedConfiguration) -> Void) {
            (self.scope, self.description, self.change) = (scope, description, change)
        }

        /// Applies the rule to what earlier rules set: its headers take the place of theirs, in whatever spelling.
        func apply(to configuration: inout ScopedConfiguration) {
            let earlier = configuration.headers
            change(&configuration)
            guard !earlier.isEmpty, configuration.headers.count > 1 else { return }
            for name in configuration.headers.keys where earlier[name] == nil {
                for other in earlier.keys where other.caseInsensitiveCompare(name) == .orderedSame { configuration.headers[other] = nil }
            }
        }
    }

    /// The most rules.
    public static let maximumRules = 1_000

    /// The URL that patterns are relative to.
    public let base: URL
    private var rules: [Rule] = []
    /// The rules that may apply to the last URL: those whose pattern covers it, and those with a closure; none for a URL that cannot be
    /// requested.
    private var candidates = LastValue<URL, [Rule]>()

    /// Makes an empty list of rules.
    ///
    /// - Parameter base: The URL that patterns are relative to.
    public init(base: URL) { self.base = base }

    /// Whether there are no rules.
    public var isEmpty: Bool { rules.isEmpty }

    /// Adds a rule for the URLs that match a pattern.
    ///
    /// - Parameters:
    ///   - glob: A pattern of `URLGlob`, relative to the base: `*` stands for characters of one segment, `**` for any number of segments.
    ///   - description: What the rule is for; ``explain(_:)`` lists it.
    ///   - change: Changes the settings; it is called for each request, and must not block.
    /// - Throws: `ApproovError` with code `initializationError`, which names the pattern, when it is malformed; ``APIError`` with code
    ///   `invalidURL` when there are 1,000 rules already.
    public mutating func configure(
        _ glob: String, description: String, _ change: @escaping @Sendable (inout ScopedConfiguration) -> Void
    ) throws {
        try add(Rule(.glob(try URLGlob(glob, relativeTo: base)), description, change))
    }

    /// Adds a rule for the URLs that a closure selects.
    ///
    /// - Parameters:
    ///   - description: What the rule is for; ``explain(_:)`` lists it.
    ///   - predicate: Whether the rule applies to a URL; it is called for each request, and must not block.
    ///   - change: Changes the settings; it is called for each request, and must not block.
    /// - Throws: ``APIError`` with code `invalidURL` when there are 1,000 rules already.
    public mutating func configure(
        description: String, where predicate: @escaping @Sendable (URL) -> Bool,
        _ change: @escaping @Sendable (inout ScopedConfiguration) -> Void
    ) throws {
        try add(Rule(.predicate(predicate), description, change))
    }

    private mutating func add(_ rule: Rule) throws {
        guard rules.count < Self.maximumRules else {
            throw APIError(.invalidURL, "there are \(Self.maximumRules) rules for URLs already; use fewer and wider patterns")
        }
        rules.append(rule)
        candidates = LastValue()
    }

    /// Lists the rules that apply to a URL, in their order: their descriptions and patterns, without any value.
    ///
    /// - Parameter url: The URL of a request.
    /// - Returns: One line for each rule.
    public func explain(_ url: URL) -> [String] {
        var lines: [String] = []
        forEachRule(matching: url) { rule in
            switch rule.scope {
            case .glob(let glob): lines.append("\(rule.description): \(glob)")
            case .predicate: lines.append("\(rule.description): by a closure")
            }
        }
        return lines
    }

    /// The settings for a URL.
    ///
    /// - Parameter url: The URL of a request.
    /// - Returns: The settings, after all rules that match.
    public func configuration(for url: URL) -> ScopedConfiguration {
        var configuration = ScopedConfiguration()
        forEachRule(matching: url) { $0.apply(to: &configuration) }
        return configuration
    }

    /// Returns a part of what these rules set for the last request of a call, if that went to this URL; otherwise runs them.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - call: What was noted in the call; by default, in the current one.
    ///   - part: Reads the part.
    /// - Returns: The part.
    func applied<Part>(to url: URL, in call: AppliedRules? = .current, _ part: (ScopedConfiguration) -> Part) -> Part {
        call?.part(part, of: candidates, for: url) ?? part(configuration(for: url))
    }

    /// Makes the object of a call, for which these rules add a header Accept if none of them sets one.
    func call(accept: String?) -> AppliedRules { AppliedRules(accept: accept.map { ($0, candidates) }) }

    private func forEachRule(matching url: URL, _ body: (Rule) -> Void) {
        guard !rules.isEmpty else { return }
        let candidates = candidates.value(for: url) { url in
            // A URL that cannot be requested matches no rule: the session refuses it.
            guard let canonical = try? TransportURL(url) else { return [] }
            return rules.filter { rule in
                guard case .glob(let glob) = rule.scope else { return true }
                return glob.covers(canonical)
            }
        }
        for rule in candidates {
            if case .predicate(let predicate) = rule.scope, !predicate(url) { continue }
            body(rule)
        }
    }

    /// Adds the headers and the timeout of the rules that match.
    ///
    /// - Parameter request: The request.
    /// - Returns: The request with them.
    /// - Throws: Nothing.
    public func adapt(_ request: URLRequest) async throws -> URLRequest {
        guard let additions = request.url.flatMap(additions) else { return request }
        var request = request
        request.addMissingHeaders(additions.headers)
        // 60 s is the default of `URLRequest`, so it means that the caller set no timeout.
        if let timeout = additions.timeout, request.timeoutInterval == URLRequest.standardTimeout {
            request.timeoutInterval = RequestBuilder.interval(timeout)
        }
        return request
    }

    package func additions(for url: URL) -> RequestAdditions? {
        let configuration = configuration(for: url)
        AppliedRules.current?.note(configuration, of: candidates, for: url)
        var headers = configuration.headers
        if let accept = AppliedRules.current?.accept(of: candidates), !headers.keys.contains(where: Resource.isAccept) {
            headers["Accept"] = accept
        }
        return RequestAdditions(headers: headers, timeout: configuration.timeout)
    }

    /// Asks the policy of the rules for the request's URL whether to send it again.
    ///
    /// - Parameters:
    ///   - request: The request as the caller made it.
    ///   - outcome: The response or the failure.
    ///   - attempt: The number of times the request has been sent, starting with 1.
    /// - Returns: The decision.
    public func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
        guard let url = request.url, let policy = configuration(for: url).retries else { return .doNotRetry }
        return await policy.retry(request, after: outcome, attempt: attempt)
    }

    /// Asks the policy of the rules for the request's URL whether to send it again; see ``retry(_:after:attempt:)``.
    ///
    /// - Parameter exchange: The attempt and its outcome.
    /// - Returns: The decision.
    public func retry(_ exchange: RequestExchange) async -> RetryDecision { retryAtOnce(exchange) }

    package func retryAtOnce(_ exchange: RequestExchange) -> RetryDecision {
        guard let url = exchange.url, let policy = applied(to: url, \.retries) else { return .doNotRetry }
        return policy.retryAtOnce(exchange)
    }

    /// Calls the validators of the rules for the response's URL.
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - body: The body, if it is in memory.
    /// - Throws: What the first of them that refuses the response throws.
    public func validate(_ response: HTTPURLResponse, body: Data?) throws {
        guard let url = response.url else { return }
        for validator in applied(to: url, \.validators) { try validator.validate(response, body: body) }
    }
}
