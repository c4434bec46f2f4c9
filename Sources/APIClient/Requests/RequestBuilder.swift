import ApproovBase
import Approov
public import Foundation
public import FoundationNetworking
public import HTTPClient
public import HTTPTypes

/// Builds one request: a URL with its query, headers, and a body.
///
/// ```swift
/// var builder = RequestBuilder(url: url)
/// builder.query = ["options": ["include": ["fuzzy", "fluffy"], "2+2": 4]]
/// builder.queryFormat = QueryFormat(arrays: .commaSeparated, dictionaries: .dotNotated)
/// let (request, body) = try builder.build()
/// ```
public struct RequestBuilder: Sendable {
    /// The absolute URL; its own query comes before ``query``.
    public var url: URL
    /// The method; GET by default.
    public var method: HTTPRequest.Method
    /// The headers, by name; none by default.
    ///
    /// The body describes itself: do not set Content-Type together with a ``body``.
    public var headers: [String: String] = [:]
    /// The parameters in the URL: a dictionary, which keeps its order; nil, the default, for none.
    public var query: QueryValue?
    /// How ``query`` is written.
    public var queryFormat = QueryFormat()
    /// The whole query, ready for the wire, in place of ``query`` and of that of ``url``; nil by default.
    ///
    /// Give it without the question mark, percent-encoded (RFC 3986, section 3.4).
    public var percentEncodedQuery: String?
    /// The content; nil, the default, for none.
    public var body: (any BodySerializer)?
    /// The idle timeout; nil, the default, for that of the session.
    public var timeout: Duration?
    /// Whether ``url`` is known to be one that can be requested as it is; a resource finds that out once for all its requests.
    var isURLChecked = false

    /// Makes a builder.
    ///
    /// - Parameters:
    ///   - url: The absolute URL.
    ///   - method: The method.
    public init(url: URL, method: HTTPRequest.Method = .get) {
        self.url = url
        self.method = method
    }

    /// Builds the request.
    ///
    /// - Returns: The request without its body, and the body: both are for `ApproovSession.upload(for:body:)`.
    /// - Throws: ``APIError`` with code `invalidURL` when the URL cannot be requested, `invalidQuery` when the parameters do not fit their
    ///   format, `invalidHeader` when a header is malformed or belongs to the body, and `invalidBody` when the method has no body or the
    ///   content cannot be written.
    public func build() throws -> (request: URLRequest, body: RequestBody) {
        var request = URLRequest(url: try target())
        if method != .get { request.httpMethod = method.rawValue }
        if let timeout { request.timeoutInterval = try Self.seconds(timeout) }
        var names: Set<String> = []
        for (name, value) in headers { try Self.check(name, value, names: &names) }
        guard let body else {
            request.addMissingHeaders(headers)
            return (request, .none)
        }
        guard ![.get, .head, .trace].contains(method) else {
            throw APIError(.invalidBody, "a \(method) request has no body; send the parameters as its query, or use another method")
        }
        let content = try body.serialize()
        var all = headers
        for (name, value) in [("Content-Type", content.contentType)] + content.headers.map({ ($0.key, $0.value) }) {
            guard !names.contains(name.lowercased()) else {
                throw APIError(
                    .invalidHeader, "the header \(LoggableText.name(name)) describes the body; give the value to the body instead")
            }
            try Self.check(name, value, names: &names)
            all[name] = value
        }
        request.addMissingHeaders(all)
        return (request, content.body)
    }

    /// The URL with its query.
    private func target() throws -> URL {
        if isURLChecked, percentEncodedQuery == nil, query == nil { return url }
        var text = url.absoluteString
        if let fragment = text.utf8.firstIndex(of: UInt8(ascii: "#")) { text = String(text[..<fragment]) }
        if let percentEncodedQuery {
            guard Self.isQuery(percentEncodedQuery) else {
                throw APIError(
                    .invalidQuery, "percentEncodedQuery has a character, or a percent sign, that a URL cannot have there; encode it")
            }
            if let mark = text.firstIndex(of: "?") { text = String(text[..<mark]) }
            text += "?" + percentEncodedQuery
        } else if let query {
            let added = String(decoding: try QueryWriter.write(query, as: queryFormat, limit: QueryWriter.maximumQueryBytes), as: UTF8.self)
            if !added.isEmpty {
                // A question mark within the query is an ordinary character: only the first one begins it.
                let mark = text.firstIndex(of: "?")
                let isBegun = text.hasSuffix("&") || mark.map { text.index(after: $0) == text.endIndex } == true
                text += mark == nil ? "?" + added : isBegun ? added : "&" + added
            }
        }
        do {
            _ = try TransportURL(text)
        } catch {
            throw APIError(.invalidURL, "the request has a URL that cannot be requested", cause: error)
        }
        if text == url.absoluteString { return url }
        guard let result = URL(string: text) else { throw APIError(.invalidURL, "the request has a malformed URL") }
        return result
    }

    /// Whether the text is a query of RFC 3986, section 3.4.
    private static func isQuery(_ text: String) -> Bool {
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.prefix(2).count == 2, rest.prefix(2).allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
                    return false
                }
                rest = rest.dropFirst(2)
            } else if !queryCharacters.contains(byte) {
                return false
            }
        }
        return true
    }

    private static let queryCharacters = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?".utf8)

    private static func check(_ name: String, _ value: String, names: inout Set<String>) throws {
        guard HTTPField.Name(name) != nil else {
            throw APIError(.invalidHeader, "the request has a header with a malformed name: \(LoggableText.name(name))")
        }
        guard HTTPField.isValidValue(value) else {
            throw APIError(.invalidHeader, "the value of the header \(name) has characters that a header may not have")
        }
        guard names.insert(name.lowercased()).inserted else {
            throw APIError(.invalidHeader, "the request has the header \(name) in two spellings; set it once")
        }
    }

    private static func seconds(_ timeout: Duration) throws -> TimeInterval {
        guard timeout > .zero else { throw APIError(.invalidHeader, "the request's timeout must be longer than 0 seconds") }
        return interval(timeout)
    }

    /// A timeout as the session takes it from a request.
    static func interval(_ timeout: Duration) -> TimeInterval {
        let seconds = timeout / .seconds(1)
        // 60 s is the default of `URLRequest`, so the session takes it for no timeout.
        return seconds == URLRequest.standardTimeout ? seconds.nextUp : seconds
    }
}
