import ApproovBase
public import Foundation
import HTTPClient

/// Content in JSON (RFC 8259).
public struct JSONBody: BodySerializer {
    /// The text.
    public let bytes: [UInt8]
    /// The value of the header Content-Type; `application/json` by default.
    public var contentType: String

    /// Encodes a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: Decides the names and the forms of dates and data.
    ///   - contentType: The value of the header Content-Type.
    /// - Throws: ``APIError`` with code `invalidBody`, which names the place of the value that cannot be encoded.
    public init(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder(), contentType: String = "application/json") throws {
        do {
            bytes = [UInt8](try encoder.encode(value))
        } catch {
            // Do not pass Foundation's error as the cause, because its text may contain the value.
            throw APIError(.invalidBody, "the content cannot be encoded as JSON; \(error.encodingPlace)")
        }
        self.contentType = contentType
    }

    /// Writes parameters as an object or an array, with the names sorted.
    ///
    /// - Parameters:
    ///   - parameters: A dictionary or an array; bytes become text in base64.
    ///   - contentType: The value of the header Content-Type.
    /// - Throws: ``APIError`` with code `invalidBody` when a name occurs twice (also in another Unicode normalization) or is not UTF-8, a
    ///   number is not finite, or the nesting is deeper than 32 levels.
    public init(parameters: QueryValue, contentType: String = "application/json") throws {
        bytes = try parameters.json(depth: 0).serialized()
        self.contentType = contentType
    }

    /// Makes the content.
    ///
    /// - Returns: The content with its type.
    /// - Throws: Nothing.
    public func serialize() throws -> SerializedBody { SerializedBody(contentType: contentType, body: .bytes(bytes)) }
}

extension QueryValue {
    fileprivate func json(depth: Int) throws -> JSONValue {
        guard depth <= JSONValue.maximumDepth else {
            throw APIError(.invalidBody, "the parameters are nested deeper than \(JSONValue.maximumDepth) levels")
        }
        switch self {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .integer(value)
        case .real(let value):
            guard value.isFinite else { throw APIError(.invalidBody, "a number is not finite, which JSON cannot express; leave it out") }
            return .real(value)
        case .string(let value): return .string(value)
        case .bytes(let value): return .string(Base64.encode(value))
        case .array(let values): return .array(try values.map { try $0.json(depth: depth + 1) })
        case .dictionary(let parameters):
            var members: [String: JSONValue] = [:]
            for parameter in parameters {
                guard let name = String(validating: parameter.nameBytes, as: UTF8.self) else {
                    throw APIError(
                        .invalidBody,
                        "the name \(LoggableText.name(parameter.name)) is not UTF-8, which JSON cannot express; use another name")
                }
                guard members.updateValue(try parameter.value.json(depth: depth + 1), forKey: name) == nil else {
                    throw APIError(.invalidBody, "the parameter \(LoggableText.name(name)) occurs twice; give an array")
                }
            }
            return .object(members)
        }
    }
}
