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
    ///   32 levels, has a number that neither `Int64` nor `Double` holds with all its digits, or takes more than 1 MiB.
    public init(encoding value: some Encodable, with encoder: JSONEncoder = JSONEncoder()) throws {
        let data: Data
        do {
            data = try encoder.encode(value)
        } catch {
            throw APIError(.invalidQuery, "the parameters cannot be encoded; \(error.encodingPlace)")
        }
        // A longer text is refused below.
        if data.count <= Self.maximumBytes { try Self.checkNumbers(in: data) }
        do {
            self = QueryValue(try JSONValue(parsing: [UInt8](data), limit: Self.maximumBytes))
        } catch {
            throw APIError(.invalidQuery, "the parameters must encode as an object or an array", cause: error)
        }
    }

    /// Refuses numbers that would lose digits, such as those of a long `Decimal`: the server must not get another amount.
    private static func checkNumbers(in json: Data) throws {
        var number: [UInt8] = []
        var (isInString, isEscaped) = (false, false)
        for byte in json + [UInt8(ascii: " ")] {
            if isInString {
                isInString = isEscaped || byte != UInt8(ascii: "\"")
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            switch byte {
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): number.append(byte)
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"):
                if !number.isEmpty { number.append(byte) }
            default:
                guard number.isEmpty || isExact(String(decoding: number, as: UTF8.self)) else {
                    throw APIError(.invalidQuery, "the parameters have a number that would lose digits; encode it as a string")
                }
                number = []
                isInString = byte == UInt8(ascii: "\"")
            }
        }
    }

    private static func isExact(_ number: String) -> Bool {
        // An integer that is too long for this is refused later, too.
        guard number.contains(where: { $0 == "." || $0 == "e" || $0 == "E" }) else { return Int64(number) != nil }
        guard let value = Double(number) else { return false }
        return Decimal(string: number) == Decimal(string: "\(value)")
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
