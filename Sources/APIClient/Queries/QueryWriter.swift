import ApproovBase

/// Writes parameters in one format.
struct QueryWriter {
    /// The deepest nesting of arrays and dictionaries.
    static let maximumDepth = 32
    /// The most bytes of a query; a URL that is longer cannot be requested.
    static let maximumQueryBytes = 65_536

    private let format: QueryFormat
    private let limit: Int
    /// Whether each ASCII character is written as it is.
    private let plain: [Bool]
    private var output: [UInt8] = []

    private init(_ format: QueryFormat, limit: Int) {
        self.format = format
        self.limit = limit
        var plain = [Bool](repeating: false, count: 256)
        for byte in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!*'():@$,/?".utf8 { plain[Int(byte)] = true }
        for byte in "!*'():@$,/?".utf8 where format.encodingAlso.contains(Character(UnicodeScalar(byte))) { plain[Int(byte)] = false }
        // A plain comma separates values, so a comma inside a value must be encoded.
        if format.arrays == .commaSeparated { plain[Int(UInt8(ascii: ","))] = false }
        self.plain = plain
    }

    /// Writes the parameters.
    ///
    /// - Parameters:
    ///   - parameters: A dictionary.
    ///   - format: Their format.
    ///   - limit: The most bytes of the result.
    /// - Returns: ASCII text.
    /// - Throws: ``APIError`` with code `invalidQuery`, which names the parameter, when the format cannot express it.
    static func write(_ parameters: QueryValue, as format: QueryFormat, limit: Int) throws -> [UInt8] {
        guard case .dictionary(let members) = parameters else {
            throw APIError(.invalidQuery, "the parameters have no names; give a dictionary, as in [\"limit\": 4]")
        }
        var writer = QueryWriter(format, limit: limit)
        if format.arrays != .duplicatedKeys { try refuseDuplicates(members, in: nil) }
        for member in members {
            var name: [UInt8] = []
            writer.encode(member.nameBytes, into: &name)
            try writer.write(member.value, named: name, top: member.name, depth: 1)
        }
        return writer.output
    }

    /// Writes one value; `name` is encoded, `top` is the name of the parameter that contains the value, for messages.
    private mutating func write(_ value: QueryValue, named name: [UInt8], top: String, depth: Int) throws {
        guard depth <= Self.maximumDepth else {
            throw APIError(.invalidQuery, "the parameter \(LoggableText.name(top)) is nested deeper than \(Self.maximumDepth) levels")
        }
        switch value {
        case .array(let elements): try write(elements, named: name, top: top, depth: depth)
        case .dictionary(let members):
            try Self.refuseDuplicates(members, in: top)
            for member in members {
                try write(member.value, named: name + (try inner(member.nameBytes, top: top)), top: top, depth: depth + 1)
            }
        case .null: try append(name, nil, top: top)
        case .bool, .integer, .real, .string, .bytes: try append(name, try text(of: value, top: top), top: top)
        }
    }

    private mutating func write(_ elements: [QueryValue], named name: [UInt8], top: String, depth: Int) throws {
        func refusal(_ reason: String) -> APIError {
            APIError(.invalidQuery, "the array \(LoggableText.name(top)) \(reason); use the format .indexed")
        }
        switch format.arrays {
        case .indexed:
            for (index, element) in elements.enumerated() {
                try write(element, named: name + "%5B\(index)%5D".utf8, top: top, depth: depth + 1)
            }
        case .bracketed:
            for element in elements {
                if case .array = element { throw refusal("contains an array, which brackets without an index cannot express") }
                try write(element, named: name + "%5B%5D".utf8, top: top, depth: depth + 1)
            }
        case .duplicatedKeys:
            for element in elements {
                guard element.isSingle else { throw refusal("contains an array or a dictionary, which repeated names cannot express") }
                try write(element, named: name, top: top, depth: depth + 1)
            }
        case .commaSeparated:
            guard !elements.isEmpty else { return }
            var list: [UInt8] = []
            for (index, element) in elements.enumerated() {
                guard element.isSingle, element != .null else {
                    throw refusal("contains an array, a dictionary or null, which a list with commas cannot express")
                }
                if index > 0 { list.append(UInt8(ascii: ",")) }
                list += try text(of: element, top: top)
            }
            try append(name, list, top: top)
        }
    }

    /// The part that the name of a nested value adds to the outer name.
    private func inner(_ name: [UInt8], top: String) throws -> [UInt8] {
        let isDotted = format.dictionaries == .dotNotated
        guard !name.isEmpty, !name.contains(where: { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }),
            !isDotted || !name.contains(UInt8(ascii: "."))
        else {
            throw APIError(
                .invalidQuery,
                "a name in the parameter \(LoggableText.name(top)) is empty, or has a bracket"
                    + (isDotted ? " or a dot: rename it, or use the format .subscripted for dots" : ": rename it"))
        }
        var part: [UInt8] = isDotted ? [UInt8(ascii: ".")] : Array("%5B".utf8)
        encode(name, into: &part)
        if !isDotted { part += "%5D".utf8 }
        return part
    }

    /// A single value, encoded.
    private func text(of value: QueryValue, top: String) throws -> [UInt8] {
        var text: [UInt8] = []
        switch value {
        case .bool(let value): text += (value ? "true" : "false").utf8
        case .integer(let value): text += String(value).utf8
        case .real(let value):
            guard value.isFinite else {
                throw APIError(.invalidQuery, "a number in the parameter \(LoggableText.name(top)) is not finite; leave it out")
            }
            // The plus sign of an exponent is redundant, and some formats would change it.
            text += String(value).utf8.filter { $0 != UInt8(ascii: "+") }
        case .string(let value): encode(value.utf8, into: &text)
        case .bytes(let value): encode(value, into: &text)
        case .null, .array, .dictionary: break
        }
        return text
    }

    private mutating func append(_ name: [UInt8], _ value: [UInt8]?, top: String) throws {
        guard output.count + name.count + (value?.count ?? 0) + 2 <= limit else {
            throw APIError(
                .invalidQuery, "the parameters take more than \(limit) bytes at \(LoggableText.name(top)); send less, or send it as a body")
        }
        if !output.isEmpty { output.append(UInt8(ascii: "&")) }
        output += name
        guard let value else { return }
        output.append(UInt8(ascii: "="))
        output += value
    }

    private func encode(_ bytes: some Sequence<UInt8>, into text: inout [UInt8]) {
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "+") where format.plus == .literal, UInt8(ascii: " ") where format.space == .plus:
                text.append(UInt8(ascii: "+"))
            case UInt8(ascii: "+") where format.plus == .percentEncodedSpace: text += "%20".utf8
            case _ where plain[Int(byte)]: text.append(byte)
            default: PercentEncoding.appendEscape(of: byte, to: &text)
            }
        }
    }

    private static func refuseDuplicates(_ members: [QueryParameter], in top: String?) throws {
        var names: Set<[UInt8]> = []
        for member in members where !names.insert(member.nameBytes).inserted {
            throw APIError(
                .invalidQuery,
                "the parameter \(LoggableText.name(top ?? member.name)) \(top == nil ? "" : "has a name that ")occurs twice; "
                    + "give an array, or use the format .duplicatedKeys")
        }
    }
}

extension QueryValue {
    /// Whether the value is neither an array nor a dictionary.
    fileprivate var isSingle: Bool {
        switch self {
        case .array, .dictionary: false
        case .null, .bool, .integer, .real, .string, .bytes: true
        }
    }
}
