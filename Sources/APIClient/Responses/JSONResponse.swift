public import Foundation

/// Decodes a response in JSON (RFC 8259).
///
/// ```swift
/// let item = try JSONResponse<Item>().value(of: response)
/// ```
public struct JSONResponse<Value: Decodable>: ResponseDeserializer {
    /// The statuses to accept; 200 to 299 by default.
    public var statuses: Range<Int>
    /// The media types to accept; `application/json` and those that end with `+json` by default.
    public var mediaTypes: [String]
    /// Decides the names and the forms of dates and data.
    public var decoder: JSONDecoder

    /// Makes a deserializer.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - statuses: The statuses to accept.
    ///   - mediaTypes: The media types to accept, as ``APIResponse/check(mediaTypes:)`` takes them.
    ///   - decoder: Decides the names and the forms of dates and data.
    public init(
        _ type: Value.Type = Value.self, statuses: Range<Int> = 200..<300,
        mediaTypes: [String] = ["application/json", "application/*+json"],
        decoder: JSONDecoder = JSONDecoder()
    ) {
        self.statuses = statuses
        self.mediaTypes = mediaTypes
        self.decoder = decoder
    }

    /// `application/json`; nil if ``mediaTypes`` lacks it.
    public var accept: String? { mediaTypes.isEmpty || mediaTypes.contains("application/json") ? "application/json" : nil }

    /// Decodes the value.
    ///
    /// - Parameter response: The response.
    /// - Returns: The value.
    /// - Throws: ``APIError`` with code `unexpectedStatus`, `unexpectedMediaType`, or `malformedResponse`, which names the
    ///   place of the member that is missing or of another type; the error carries the response.
    public func value(of response: APIResponse) throws -> Value {
        try response.check(statuses: statuses)
        try response.check(mediaTypes: mediaTypes)
        do {
            return try decoder.decode(Value.self, from: response.data)
        } catch {
            throw response.refusal(.malformedResponse, "the content from \(response.host) cannot be decoded; \(error.decodingPlace)")
        }
    }
}

extension Error {
    /// What does not fit; Foundation's own text may contain the content.
    fileprivate var decodingPlace: String {
        func place(_ path: [any CodingKey]) -> String {
            path.isEmpty ? "the content" : path.place
        }
        return switch self as any Error {
        case DecodingError.keyNotFound(let key, let context): "\(place(context.codingPath + [key])) is missing"
        case DecodingError.typeMismatch(let type, let context): "\(place(context.codingPath)) is not of type \(type)"
        case DecodingError.valueNotFound(_, let context): "\(place(context.codingPath)) is null"
        case DecodingError.dataCorrupted(let context): "\(place(context.codingPath)) is malformed"
        default: "check its init(from:)"
        }
    }
}
