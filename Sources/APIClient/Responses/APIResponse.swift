import ApproovBase
public import Foundation
public import FoundationNetworking
internal import HTTPTypes

/// A response with its whole content.
public struct APIResponse: Sendable {
    /// The content.
    public let data: Data
    /// Status, headers and URL.
    public let head: HTTPURLResponse

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - data: The content.
    ///   - head: Status, headers and URL.
    public init(data: Data, head: HTTPURLResponse) {
        self.data = data
        self.head = head
    }

    /// The type and subtype of the content, in lower case and without parameters; empty without the header Content-Type.
    public var mediaType: String {
        let value = head.value(forHTTPHeaderField: "Content-Type") ?? ""
        return value.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    }

    /// The character encoding that Content-Type names, in lower case; nil if it names none.
    var charset: String? {
        let parameters = (head.value(forHTTPHeaderField: "Content-Type") ?? "").split(separator: ";").dropFirst()
        for parameter in parameters {
            let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, parts[0].lowercased() == "charset" else { continue }
            return parts[1].trimmingCharacters(in: ["\""]).lowercased()
        }
        return nil
    }

    /// Checks the status.
    ///
    /// - Parameter statuses: The statuses to accept.
    /// - Throws: ``APIError`` with code `unexpectedStatus`, which carries the response.
    public func check(statuses: Range<Int>) throws {
        guard !statuses.contains(head.statusCode) else { return }
        throw unexpectedStatus
    }

    /// The error for a status that is not accepted.
    var unexpectedStatus: APIError {
        let advice =
            head.statusCode == 401
            ? "; if the server checks Approov tokens, precheck() of the app's service tells whether the attestation failed, and approov "
                + "token -check TOKEN, run on the authority's machine, why the server refused a token"
            : ""
        return refusal(
            .unexpectedStatus,
            "\(host) answered with status \(head.statusCode); the error's response has its content\(advice)")
    }

    /// Checks the media type.
    ///
    /// - Parameter mediaTypes: The types to accept, in lower case; `*` at the beginning of the subtype stands for any characters, as in
    ///   `application/*+json`; an empty list accepts all.
    /// - Throws: ``APIError`` with code `unexpectedMediaType`, which carries the response.
    public func check(mediaTypes: [String]) throws {
        let own = mediaType
        let isAccepted =
            mediaTypes.isEmpty
            || mediaTypes.contains { type in
                guard let star = type.firstIndex(of: "*") else { return type == own }
                let suffix = type[type.index(after: star)...]
                return own.count >= type.count - 1 && own.hasPrefix(type[..<star]) && own.hasSuffix(suffix)
            }
        guard !isAccepted else { return }
        // The value comes from the server: only what a media type may be is shown.
        let named = own.isEmpty ? "no media type" : Self.isPlain(own) ? "the media type \"\(own)\"" : "a malformed media type"
        throw refusal(.unexpectedMediaType, "\(host) answered with \(named), not with \(mediaTypes.joined(separator: " or "))")
    }

    /// Whether a text is `type/subtype`, both tokens (RFC 9110, section 5.6.2), and at most 100 bytes long.
    private static func isPlain(_ type: String) -> Bool {
        guard type.utf8.count <= 100 else { return false }
        let parts = type.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { HTTPField.Name(String($0)) != nil }
    }

    func refusal(_ code: APIError.Code, _ message: String) -> APIError { APIError(.init(code, message), response: self) }

    /// The host that answered, for messages.
    var host: String { LoggableText.name(head.url?.host() ?? "the server") }
}
