/// A parameter's value, or all parameters of a request: text, a number, a list, or named values in their order.
///
/// Write it as a literal:
///
/// ```swift
/// let query: QueryValue = ["options": ["include": ["fuzzy", "fluffy"], "limit": 4]]
/// ```
///
/// The order of the names is the order on the wire.
public enum QueryValue: Sendable, Hashable {
    /// No value: only the name is written, without an equals sign.
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A whole number.
    case integer(Int64)
    /// A fraction; it must be finite.
    case real(Double)
    /// Text.
    case string(String)
    /// Bytes of any kind, written percent-encoded.
    case bytes([UInt8])
    /// A list of values.
    case array([QueryValue])
    /// Named values, in their order.
    case dictionary([QueryParameter])
}

extension QueryValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation {
    /// Makes text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension QueryValue: ExpressibleByIntegerLiteral {
    /// Makes a whole number.
    public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension QueryValue: ExpressibleByFloatLiteral {
    /// Makes a fraction.
    public init(floatLiteral value: Double) { self = .real(value) }
}

extension QueryValue: ExpressibleByBooleanLiteral {
    /// Makes a truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension QueryValue: ExpressibleByNilLiteral {
    /// Makes a parameter without a value.
    public init(nilLiteral: ()) { self = .null }
}

extension QueryValue: ExpressibleByArrayLiteral {
    /// Makes a list.
    public init(arrayLiteral elements: QueryValue...) { self = .array(elements) }
}

extension QueryValue: ExpressibleByDictionaryLiteral {
    /// Makes named values that keep their order.
    ///
    /// - Parameter elements: The names with their values; a name may occur twice if the format allows it.
    public init(dictionaryLiteral elements: (String, QueryValue)...) {
        self = .dictionary(elements.map { QueryParameter($0.0, $0.1) })
    }
}
