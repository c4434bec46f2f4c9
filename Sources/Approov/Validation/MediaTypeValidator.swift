@_spi(Internals) import ApproovBase
public import Foundation
public import FoundationNetworking
import HTTPTypes

/// Accepts responses whose content has certain media types; see ``ResponseValidating/mediaType(_:)``.
///
/// A response without content is accepted: one with status 204, 205 or 304, and one whose body is known to be empty.
public struct MediaTypeValidator: FieldValidating {
    private let accepted: [String]
    /// Whether the last value of Content-Type is accepted: many responses in a row have the same.
    private let last = LastValue<String, Bool>()

    /// Makes a validator.
    ///
    /// - Parameter accepted: The types, such as "application/json" or "image/*", without parameters.
    public init(_ accepted: [String]) {
        self.accepted = accepted.map { $0.lowercased() }
    }

    /// Checks the type that Content-Type names (RFC 9110, section 8.3).
    ///
    /// - Parameters:
    ///   - response: The head.
    ///   - body: The body, if it is in memory.
    /// - Throws: ``ApproovError`` with code `responseRefused` for any other type, and for content without one.
    public func validate(_ response: HTTPURLResponse, body: Data?) throws {
        try validate(status: response.statusCode, body: body) { response.value(forHTTPHeaderField: $0.rawName) }
    }

    func validate(status: Int, body: Data?, value: (HTTPField.Name) -> String?) throws {
        guard status != 204, status != 205, status != 304, body?.isEmpty != true else { return }
        let value = value(.contentType) ?? ""
        if last.value(for: value, isKept: \.self, make: isAccepted) { return }
        throw ApproovError.responseRefused(
            Self.name(inContentType: value) == nil
                ? "its content has no Content-Type: have the server name one of \(names)" : "its media type is none of \(names)")
    }

    private func isAccepted(_ value: String) -> Bool {
        guard let type = Self.name(inContentType: value) else { return false }
        return accepted.contains { Self.matches(type, $0) }
    }

    private var names: String { accepted.map { LoggableText.name($0) }.joined(separator: ", ") }

    private static func matches(_ type: String, _ pattern: String) -> Bool {
        guard pattern.hasSuffix("/*") else { return type == pattern }
        return type.hasPrefix(pattern.dropLast())
    }

    /// The type and subtype of Content-Type, in lower case; nil without one.
    static func name(inContentType value: String) -> String? {
        let type = OptionalWhitespace.trimmed(value.utf8.prefix { $0 != UInt8(ascii: ";") })
        return type.isEmpty ? nil : Substring(type).lowercased()
    }
}
