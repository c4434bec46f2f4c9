@_spi(Internals) internal import ApproovBase

/// Reads a field that is a dictionary of a known shape, such as Signature-Input: strictly and in one pass.
///
/// The parser of swift-http-structured-headers keeps the last of two members or parameters with one name, as RFC 9651 says. An attacker can
/// use that to make two readers see two signatures, so this reader must see both names. It also has to be fast, because every request of an
/// API passes here: that parser was measured to take 20 µs for a Signature-Input with eight components, a third of an ECDSA verification.
struct StructuredFieldReader {
    /// One item, without its parameters.
    enum BareItem: Sendable, Equatable {
        case string(String)
        case integer(Int64)
        case boolean(Bool)
        case bytes([UInt8])
        /// A token, decimal, date or display string: it is well-formed enough to be skipped.
        case other

        /// The bytes of a byte sequence, or of a string with base64 in it; nil for other items.
        func bytes(acceptingStrings: Bool) -> [UInt8]? {
            switch self {
            case .bytes(let bytes): bytes
            case .string(let text) where acceptingStrings: Base64.decode(text)
            default: nil
            }
        }
    }

    struct Parameter: Sendable, Equatable {
        let key: String
        let value: BareItem
    }

    struct Item: Sendable, Equatable {
        let value: BareItem
        let parameters: [Parameter]
    }

    enum Value: Sendable, Equatable {
        case item(Item)
        case innerList([Item], parameters: [Parameter])
    }

    struct Member: Sendable, Equatable {
        let key: String
        let value: Value
    }

    /// The text is not a valid structured field of its type.
    struct Malformed: Error {}
    /// A key occurs twice.
    struct Duplicate: Error {}

    /// The most members of a dictionary, items of a list, and parameters of an item.
    static let maximumCount = 64

    private let text: [UInt8]
    private var position = 0

    init(_ text: [UInt8]) { self.text = text }

    /// Reads a dictionary (RFC 9651, section 4.2.2).
    ///
    /// - Parameter members: The members of the field's lines before this one; the new ones are appended.
    /// - Throws: `Malformed`, or `Duplicate` when two members or two parameters have one key.
    mutating func readDictionary(into members: inout [Member]) throws {
        skip { $0 == UInt8(ascii: " ") }
        while position < text.count {
            let key = try readKey()
            let value: Value
            if peek() == UInt8(ascii: "=") {
                position += 1
                value = peek() == UInt8(ascii: "(") ? try readInnerList() : .item(try readItem())
            } else {
                value = .item(Item(value: .boolean(true), parameters: try readParameters()))
            }
            guard !members.contains(where: { $0.key == key }) else { throw Duplicate() }
            guard members.count < Self.maximumCount else { throw Malformed() }
            members.append(Member(key: key, value: value))
            skip(OptionalWhitespace.contains)
            guard position < text.count else { return }
            guard take() == UInt8(ascii: ",") else { throw Malformed() }
            skip(OptionalWhitespace.contains)
            guard position < text.count else { throw Malformed() }
        }
    }

    private mutating func readInnerList() throws -> Value {
        position += 1
        var items: [Item] = []
        while true {
            skip { $0 == UInt8(ascii: " ") }
            if peek() == UInt8(ascii: ")") {
                position += 1
                return .innerList(items, parameters: try readParameters())
            }
            guard items.count < Self.maximumCount else { throw Malformed() }
            items.append(try readItem())
            guard peek() == UInt8(ascii: " ") || peek() == UInt8(ascii: ")") else { throw Malformed() }
        }
    }

    private mutating func readItem() throws -> Item {
        Item(value: try readBareItem(), parameters: try readParameters())
    }

    private mutating func readParameters() throws -> [Parameter] {
        var parameters: [Parameter] = []
        while peek() == UInt8(ascii: ";") {
            position += 1
            skip { $0 == UInt8(ascii: " ") }
            let key = try readKey()
            var value = BareItem.boolean(true)
            if peek() == UInt8(ascii: "=") {
                position += 1
                value = try readBareItem()
            }
            guard !parameters.contains(where: { $0.key == key }) else { throw Duplicate() }
            guard parameters.count < Self.maximumCount else { throw Malformed() }
            parameters.append(Parameter(key: key, value: value))
        }
        return parameters
    }

    private mutating func readKey() throws -> String {
        let start = position
        guard Self.beginsKey(peek()) else { throw Malformed() }
        skip(Self.continuesKey)
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    private mutating func readBareItem() throws -> BareItem {
        switch peek() {
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: ":"): return .bytes(try readBytes())
        case UInt8(ascii: "?"):
            position += 1
            switch take() {
            case UInt8(ascii: "0"): return .boolean(false)
            case UInt8(ascii: "1"): return .boolean(true)
            default: throw Malformed()
            }
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try readNumber()
        case UInt8(ascii: "@"):
            position += 1
            guard case .integer = try readNumber() else { throw Malformed() }
            return .other
        case UInt8(ascii: "%"):
            position += 1
            _ = try readString()
            return .other
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "*"):
            skip(Self.continuesToken)
            return .other
        default: throw Malformed()
        }
    }

    private mutating func readString() throws -> String {
        guard take() == UInt8(ascii: "\"") else { throw Malformed() }
        let start = position
        skip { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && (0x20...0x7E).contains($0) }
        if peek() == UInt8(ascii: "\"") {
            position += 1
            return String(decoding: text[start..<position - 1], as: UTF8.self)
        }
        // The rest of the rare string with escapes.
        var unescaped = Array(text[start..<position])
        while let byte = take() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let next = take(), next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") else { throw Malformed() }
                unescaped.append(next)
            case 0x20...0x7E: unescaped.append(byte)
            default: throw Malformed()
            }
        }
        throw Malformed()
    }

    private mutating func readBytes() throws -> [UInt8] {
        position += 1
        let start = position
        skip { $0 != UInt8(ascii: ":") }
        guard take() == UInt8(ascii: ":"),
            let bytes = text[start..<position - 1].withUnsafeBufferPointer({ Base64.decode(utf8: $0) })
        else { throw Malformed() }
        return bytes
    }

    private mutating func readNumber() throws -> BareItem {
        let isNegative = peek() == UInt8(ascii: "-")
        if isNegative { position += 1 }
        let start = position
        var value: Int64 = 0
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(peek()), position - start < 15 {
            value = value * 10 + Int64(peek() - UInt8(ascii: "0"))
            position += 1
        }
        guard position > start else { throw Malformed() }
        switch peek() {
        case UInt8(ascii: "."):
            position += 1
            let fraction = position
            skip { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            guard (1...3).contains(position - fraction), fraction - 1 - start <= 12 else { throw Malformed() }
            return .other
        case UInt8(ascii: "0")...UInt8(ascii: "9"): throw Malformed()
        default: return .integer(isNegative ? -value : value)
        }
    }

    /// The next byte; at the end NUL, which no structured field contains.
    private func peek() -> UInt8 { position < text.count ? text[position] : 0 }

    private mutating func take() -> UInt8? {
        guard position < text.count else { return nil }
        defer { position += 1 }
        return text[position]
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        while position < text.count, isSkipped(text[position]) { position += 1 }
    }

    /// Whether a key may begin with this character (RFC 9651, section 3.1.2).
    static func beginsKey(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "*")
    }

    /// Whether a key may go on with this character.
    static func continuesKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: "*"):
            true
        default: false
        }
    }

    /// Whether a token may go on with this character (RFC 9651, section 3.3.4).
    private static func continuesToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x2F, 0x3A, 0x5E...0x60, 0x7C, 0x7E:
            true
        default: false
        }
    }
}
