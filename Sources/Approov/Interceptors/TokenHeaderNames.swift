import ApproovBase
import Attestation
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

/// The names of the headers that a token involves: those that carry token, trace ID and status, and those that tokens are bound to.
struct TokenHeaderNames: Sendable {
    let token: HTTPField.Name
    /// Nil when no trace ID is sent.
    let traceID: HTTPField.Name?
    /// Nil when no header carries the status.
    let status: HTTPField.Name?
    /// The names of the headers that the SDK alone sets: those of token, trace ID and status.
    private let own: [HTTPField.Name]
    /// The binding headers in their order; empty when tokens are bound to no header.
    let binding: [HTTPField.Name]

    /// Checks the names.
    ///
    /// - Parameters:
    ///   - tokenHeader: The names of the headers that carry token, trace ID and status.
    ///   - bindHeaders: The names of the headers that tokens are bound to, in order; empty for none.
    /// - Throws: ``ApproovError`` with code `initializationError` when a name is malformed, or two of them are equal.
    init(_ tokenHeader: TokenHeader, bindHeaders: [String]) throws {
        token = try Self.name(tokenHeader.name)
        traceID = try tokenHeader.traceIDName.map(Self.name)
        status = try tokenHeader.statusName.map(Self.name)
        own = [token] + [traceID, status].compactMap(\.self)
        binding = try bindHeaders.map(Self.name)
        let names = all
        guard Set(names).count == names.count else {
            throw ApproovError(
                .initializationError,
                "token, trace ID, status and binding need different headers: a token cannot be bound to itself, or to one header twice")
        }
    }

    /// All names.
    var all: [HTTPField.Name] { own + binding }

    /// Whether the SDK alone sets this field: it carries the token, the trace ID or the status.
    func isOwn(_ field: HTTPField) -> Bool { own.contains(field.name) }

    /// Whether the SDK alone sets the header with this name: it carries the token, the trace ID or the status.
    func isOwn(_ name: String) -> Bool { own.contains { matches(name, $0) } }

    /// The request as the app's code sees it before it has a token: with these header fields, but not with those that the SDK alone sets.
    func request(_ request: URLRequest, with fields: HTTPFields) -> URLRequest {
        request.carrying(HTTPFields(fields.filter { !isOwn($0) }))
    }

    /// Whether tokens are bound to the header with this name.
    func isBinding(_ name: String) -> Bool { binding.contains { matches(name, $0) } }

    /// Whether the request has a header that tokens are bound to.
    func isBound(_ request: URLRequest) -> Bool { request.allHTTPHeaderFields?.keys.contains(where: isBinding) ?? false }

    /// Whether the fields contain a header that tokens are bound to.
    func isBound(_ fields: HTTPFields) -> Bool { binding.contains { fields.scan(for: $0) } }

    /// Joins the values of the binding headers; there must be at least one such header.
    func joined(_ fields: HTTPFields) -> Binding.Joined {
        Binding.join(count: binding.count) { index in
            var line = Binding.Line.missing
            for field in fields where field.name == binding[index] {
                guard case .missing = line else { return .unusable }
                line = .one(field.value)
            }
            return line
        }
    }

    /// Whether the fields contain one that the SDK alone sets.
    func hasOwn(_ fields: HTTPFields) -> Bool { own.contains { fields.scan(for: $0) } }

    /// Whether the fields contain a token.
    func hasToken(_ fields: HTTPFields) -> Bool { fields.scan(for: token) }

    /// Removes the headers that the SDK sets and, if `andBinding` is true, the binding headers.
    func strip(_ request: inout URLRequest, andBinding: Bool) {
        request.removeHeaders { isOwn($0) || (andBinding && isBinding($0)) }
    }

    private func matches(_ name: String, _ own: HTTPField.Name) -> Bool {
        name.utf8.count == own.canonicalName.utf8.count && HTTPField.Name(name) == own
    }

    private static func name(_ text: String) throws -> HTTPField.Name {
        guard let name = HTTPField.Name(text), !text.hasPrefix(":") else {
            throw ApproovError(.initializationError, "\"\(LoggableText.name(text))\" is not the name of a header")
        }
        return name
    }
}
