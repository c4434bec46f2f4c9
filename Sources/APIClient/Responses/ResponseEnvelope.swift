import ApproovBase
import Foundation
import FoundationNetworking

/// The fields in which the content of a response reports success or failure, for APIs that answer failures with status 200.
///
/// Such a content is `{"status": false, "code": 500, "message": "try later"}`. The status may be a truth value, a number or text: `false`,
/// `0`, `"false"` and `"0"` mean failure. Without that field the content means success.
public struct ResponseEnvelope: Sendable, Hashable {
    /// The name of the field that says whether the request succeeded.
    public var statusField: String
    /// The name of the field with the server's code for the failure.
    public var codeField: String
    /// The name of the field with the server's text for the failure.
    public var messageField: String

    /// Makes an envelope.
    ///
    /// - Parameters:
    ///   - statusField: The name of the field that says whether the request succeeded.
    ///   - codeField: The name of the field with the server's code for the failure.
    ///   - messageField: The name of the field with the server's text for the failure.
    public init(statusField: String = "status", codeField: String = "code", messageField: String = "message") {
        self.statusField = statusField
        self.codeField = codeField
        self.messageField = messageField
    }

    /// Checks the content.
    ///
    /// - Parameter response: A response in JSON; other content means success.
    /// - Throws: ``APIError`` with code `refusedByServer`, which carries the response and the server's code and text.
    public func check(_ response: APIResponse) throws {
        guard let fields = try? JSONDecoder().decode(Fields.self, from: response.data).values,
            let status = fields[statusField], ["false", "0"].contains(status.lowercased())
        else { return }
        throw APIError(
            .init(
                .refusedByServer,
                "\(response.host) answered with status \(response.head.statusCode) that the request failed; "
                    + "serverCode and serverMessage have its reason"),
            response: response, serverCode: fields[codeField].map(Self.shown), serverMessage: fields[messageField].map(Self.shown))
    }

    /// Text of the server that can be shown: at most 256 characters, without control characters.
    private static func shown(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(256).map { $0.properties.generalCategory == .control ? "?" : $0 }))
    }

    /// The members of an object that are single values, as text.
    private struct Fields: Decodable {
        var values: [String: String] = [:]

        struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Name.self)
            for name in members.allKeys {
                if let value = try? members.decode(Bool.self, forKey: name) {
                    values[name.stringValue] = String(value)
                } else if let value = try? members.decode(Int64.self, forKey: name) {
                    values[name.stringValue] = String(value)
                } else if let value = try? members.decode(String.self, forKey: name) {
                    values[name.stringValue] = value
                }
            }
        }
    }
}
