public import Approov
public import Foundation
import HTTPClient

/// A client of one API: a session with a base URL and settings.
///
/// ```swift
/// let client = try APIClient(base: url, session: session)
/// let item = try await client.get("items/7", as: Item.self)
/// ```
///
/// A client is a value. Copies share the session, with its cookies, tokens and connections, but not their settings:
///
/// ```swift
/// var patient = client
/// patient.timeout = .seconds(300)
/// ```
///
/// Requests for relative paths go below the base URL and nowhere else. A request for another URL must say so:
/// ``resource(absolute:)``.
public struct APIClient: Sendable {
    /// The session that sends the requests.
    public let session: ApproovSession
    let base: BaseURL

    /// The rules for the URLs that match a pattern; none at first.
    public var rules: RequestRules {
        didSet { connect() }
    }
    /// The client's own interceptors, called after those of the session and the ``rules``; none at first.
    public var interceptors: [any RequestInterceptor] = [] {
        didSet { connect() }
    }
    /// The client's own validators, called after those of the session and the ``rules``; none at first.
    ///
    /// `EnvelopeValidator` refuses responses with a status of success whose content says that the request failed.
    public var validators: [any ResponseValidating] = [] {
        didSet { connect() }
    }
    /// Headers of every request, by name; headers of the request itself win.
    ///
    /// Observers of the session see no value of a header whose name is unknown, such as `X-User`: it may be a secret.
    public var headers: [String: String] = [:] {
        didSet { connect() }
    }
    /// The idle timeout; nil, the default, for that of the session.
    public var timeout: Duration?
    /// How queries are written.
    public var queryFormat = QueryFormat()
    /// How parameters in a form are written, where ``parameterEncoding`` is `.form`; ``QueryFormat/form`` by default.
    public var formFormat = QueryFormat.form
    /// Where the parameters of requests with content go; into JSON by default.
    public var parameterEncoding = ParameterEncoding.json
    /// The statuses to accept; 200 to 299 by default.
    public var statuses = 200..<300
    /// Changes each response before its status is judged and its content is decoded; nil, the default, for none.
    ///
    /// ```swift
    /// client.transformResponse = { response in
    ///     APIResponse(data: try decrypt(response.data), head: response.head)
    /// }
    /// ```
    ///
    /// Every request gets the changed response: those that return a value, an ``APIResponse`` or a ``CachedData``, whatever the status.
    /// The content may be empty, as with status 204. Validators and the retries see the response as it came, and the ``cache`` keeps it so.
    /// Streams and downloads are not changed.
    ///
    /// The closure runs on the caller's actor and must not block. What it throws is thrown to the caller.
    public var transformResponse: (@Sendable (APIResponse) throws -> APIResponse)?
    /// The most bytes of a response, 16 MiB by default; a negative number is taken for 0.
    ///
    /// ``Resource/bytes(_:query:body:headers:)``, ``Resource/events(_:query:body:headers:upTo:)`` and downloads with an accepted status are
    /// exempt: their content is not kept in memory. Give ``Resource/download(query:headers:upTo:onProgress:)`` another limit.
    /// A request that the wrapped session performs itself is always read into memory first.
    public var maximumBytes = 16 << 20 {
        didSet { maximumBytes = max(0, maximumBytes) }
    }
    /// Keeps responses for ``Resource/cachedData(query:headers:)``; nil, the default, for none.
    ///
    /// Clients may share a cache. They share the responses in it if they share the session.
    public var cache: DataCache?
    /// Makes the encoder for parameters, once for each request.
    public var encoder: @Sendable () -> JSONEncoder = { JSONEncoder() }
    /// Makes the decoder for results, once for each response.
    public var decoder: @Sendable () -> JSONDecoder = { JSONDecoder() }

    /// The session with the rules, interceptors and validators, or why there is none.
    private(set) var connected: Result<ApproovSession, any Error>

    /// Makes a client.
    ///
    /// The base URL may have the scheme http, as in a session: others on the network can then read and change what is sent. The session
    /// refuses such a request when its host is protected or has an evaluator, when every host must have one, and when it would carry a
    /// credential. ``APIEnvironment`` accepts http for this machine only.
    ///
    /// - Parameters:
    ///   - base: The absolute URL below which relative requests go, without query and dot segments; its path is a folder, with or without a
    ///     slash at the end.
    ///   - session: The session that sends the requests.
    /// - Throws: ``APIError`` with code `invalidURL` when that is not such a URL.
    public init(base: URL, session: ApproovSession) throws {
        self.base = try BaseURL(base)
        self.session = session
        rules = RequestRules(base: self.base.url)
        connected = .success(session)
    }

    /// The URL below which relative requests go; it ends with a slash.
    public var baseURL: URL { base.url }

    /// Returns a copy with further rules.
    ///
    /// - Parameter change: Adds the rules.
    /// - Returns: The copy.
    /// - Throws: What `change` throws.
    public func configured(_ change: (inout RequestRules) throws -> Void) rethrows -> APIClient {
        var copy = self
        try change(&copy.rules)
        return copy
    }

    /// The resource at a path below the base URL.
    ///
    /// - Parameter path: The path, with or without a slash at the beginning, and with a query or without one; percent-encoded. See
    ///   ``Resource/child(_:)`` for segments that come from elsewhere.
    /// - Returns: The resource.
    /// - Throws: ``APIError`` with code `invalidURL` for a path that could lead elsewhere, such as `//host`, `https://host`, `..` and
    ///   `%2e%2e`, or that a URL cannot have.
    public func resource(_ path: String) throws -> Resource { Resource(url: try base.resolve(path), client: self) }

    /// The resource at any URL, even of another server.
    ///
    /// The client's ``headers`` go there, too.
    ///
    /// - Parameter url: The absolute URL.
    /// - Returns: The resource.
    public func resource(absolute url: URL) -> Resource { Resource(url: url, client: self) }

    /// The session with the client's rules, interceptors and validators, for the requests that ``Resource/request(_:query:body:headers:)``
    /// makes.
    ///
    /// Statuses and ``maximumBytes`` are not checked, and the ``cache`` keeps what it has.
    ///
    /// - Returns: The session, which shares everything else with ``session``.
    /// - Throws: The session's `ApproovError` when it cannot have the interceptors.
    public func connectedSession() throws -> ApproovSession { try connected.get() }

    /// The response as ``transformResponse`` changes it.
    func transformed(_ response: APIResponse) throws -> APIResponse { try transformResponse?(response) ?? response }

    /// Puts parameters where ``parameterEncoding`` says.
    func encoded(_ parameters: some Encodable) throws -> (query: QueryValue?, body: (any BodySerializer)?) {
        switch parameterEncoding {
        case .json: (nil, try JSONBody(parameters, encoder: encoder()))
        case .form: (nil, FormBody(try QueryValue(encoding: parameters, with: encoder()), format: formFormat))
        case .query: (try QueryValue(encoding: parameters, with: encoder()), nil)
        }
    }

    private mutating func connect() {
        let secret = Set(headers.keys.filter(ApproovSession.mayBeSecret))
        guard !rules.isEmpty || !interceptors.isEmpty || !validators.isEmpty || !secret.isEmpty else {
            return connected = .success(session)
        }
        connected = Result {
            try session.adding(
                interceptors: (rules.isEmpty ? [] : [rules]) + interceptors, validators: (rules.isEmpty ? [] : [rules]) + validators,
                secretHeaders: secret)
        }
    }
}
