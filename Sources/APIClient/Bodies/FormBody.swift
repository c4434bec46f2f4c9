import HTTPClient

/// A form: parameters as `application/x-www-form-urlencoded` (WHATWG URL Standard, section 5).
///
/// Servers read the content as they read a browser's. Its text differs in two places: `~` is not encoded, and a null is written as its name
/// alone, without `=`.
///
/// ```swift
/// let body: FormBody = ["grant_type": "refresh_token", "scope": "cats dogs"]
/// ```
public struct FormBody: BodySerializer, ExpressibleByDictionaryLiteral {
    /// The most bytes of a form's content, 16 MiB; send more as `multipart/form-data`.
    public static let maximumBytes = 16 << 20

    /// The parameters: a dictionary.
    public var parameters: QueryValue
    /// How arrays and dictionaries within the parameters are written.
    public var format: QueryFormat

    /// Makes a form.
    ///
    /// - Parameters:
    ///   - parameters: A dictionary, which keeps its order.
    ///   - format: How arrays and dictionaries within it are written; ``QueryFormat/form`` by default.
    public init(_ parameters: QueryValue, format: QueryFormat = .form) {
        self.parameters = parameters
        self.format = format
    }

    /// Makes a form from names and values, in their order.
    ///
    /// - Parameter elements: The names with their values; a name may occur twice.
    public init(dictionaryLiteral elements: (String, QueryValue)...) {
        self.init(.dictionary(elements.map { QueryParameter($0.0, $0.1) }))
    }

    /// Makes the content.
    ///
    /// - Returns: The content with its type.
    /// - Throws: ``APIError`` with code `invalidQuery`, which names the parameter, when the format cannot express it, and when the content
    ///   is longer than 16 MiB.
    public func serialize() throws -> SerializedBody {
        let bytes = try QueryWriter.write(parameters, as: format, limit: Self.maximumBytes)
        return SerializedBody(contentType: "application/x-www-form-urlencoded", body: .bytes(bytes))
    }
}
