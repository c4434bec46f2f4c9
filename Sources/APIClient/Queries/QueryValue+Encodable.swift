import ApproovBase
public import Foundation

extension QueryValue {
    /// The most bytes of JSON that parameters may become on the way.
    private static let maximumBytes = 1 << 20

    /// Makes parameters from a value that can be encoded.
    ///
    /// The names are sorted, so that equal values give equal queries.
    ///
    /// - Parameters:
    ///   - value: A value that encodes as an object or an array.
    ///   - encoder: Decides the names and the forms of dates and data.
    /// - Throws: ``APIError`` with code `invalidQuery` when the value cannot be encoded, encodes as a single value, is nested deeper than
    ///   32 levels, or takes more than 1 MiB.
    public init(encoding value: some Encodable, with encoder: JSONEncoder = JSONEncoder()) throws {
        let data: Data
        do {
            data = try encoder.encode(value)
        } catch {
            throw APIError(.invalidQuery, "the parameters cannot be encoded; \(error.encodingPlace)")
        }
        do {
            self = QueryValue(try JSONValue(parsing: [UInt8](data), limit: Self.maximumBytes))
        } catch {
            throw APIError(.invalidQuery, "the parameters must encode as an object or an array", cause: error)
        }
    }

    init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .bool(let value): .bool(value)
            case .integer(let value): .integer(value)
            case .real(let value): .real(value)
            case .string(let value): .string(value)
            case .array(let values): .array(values.map { QueryValue($0) })
            case .object(let members):
                .dictionary(
                    members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map {
                        QueryParameter($0.key, QueryValue($0.value))
                    })
            }
    }
}
