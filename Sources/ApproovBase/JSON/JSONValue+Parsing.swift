internal import CJansson

extension JSONValue {
    /// Parses one JSON array or object, strictly, with jansson.
    ///
    /// - Parameters:
    ///   - bytes: The whole text, in UTF-8.
    ///   - limit: The most bytes accepted.
    /// - Throws: ``JSONError`` with code `tooLarge` above the limit; `malformedJSON` for members that occur twice, anything after the
    ///   value, a NUL (also as an escape), bad UTF-8, nesting beyond `maximumDepth`, and integers beyond 64 bits.
    package init(parsing bytes: [UInt8], limit: Int) throws(JSONError) {
        guard bytes.count <= limit else {
            throw JSONError(.tooLarge, "the JSON text has \(bytes.count) bytes; at most \(limit) are allowed")
        }
        try JSONValue.precheck(bytes)
        var problem = json_error_t()
        let parsed = bytes.withUnsafeBytes { raw in
            json_loadb(raw.baseAddress?.assumingMemoryBound(to: CChar.self), raw.count, Int(JSON_REJECT_DUPLICATES), &problem)
        }
        guard let root = parsed else {
            // jansson's own text quotes the input, so only the position is repeated.
            throw JSONError(
                .malformedJSON,
                "the text is not strict JSON at line \(problem.line), column \(problem.column); send one value without repeated members")
        }
        defer { json_decref(root) }
        self = try JSONValue.convert(root)
    }

    /// Refuses NUL and deep nesting before the recursive parser sees the text.
    ///
    /// - Throws: ``JSONError`` with code `malformedJSON` when the text has either.
    package static func precheck(_ bytes: [UInt8]) throws(JSONError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
            if !isPlainlyShallow(buffer) { try scan(buffer) }
        }
    }

    /// Whether a text has no NUL, and no more opening brackets than it may have levels; true for nearly every text.
    ///
    /// The inner loop has no branches and counts in bytes, so that the processor compares many bytes at once: every token passes through
    /// it.
    private static func isPlainlyShallow(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        // A multiple of every vector's size, and few enough that their number fits in a byte.
        let most = 192
        var nuls: UInt8 = 0
        var openings = 0
        for start in stride(from: 0, to: bytes.count, by: most) {
            let block = UnsafeBufferPointer(rebasing: bytes[start..<min(start + most, bytes.count)])
            var others: UInt8 = 0
            for byte in block {
                let isNUL: UInt8 = byte == 0 ? 1 : 0
                // "[" and "{" differ in this bit alone.
                let isOpening: UInt8 = byte | 0x20 == UInt8(ascii: "{") ? 1 : 0
                nuls |= isNUL
                // Counts the other bytes: the compiler turns a sum of values that are nearly always 0 into a branch.
                others &+= isOpening ^ 1
            }
            openings += block.count - Int(others)
        }
        return nuls == 0 && openings <= maximumDepth
    }

    private static func scan(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) {
        var depth = 0
        var inString = false
        var escaped = false
        for byte in bytes {
            guard byte != 0 else { throw JSONError(.malformedJSON, "the JSON text contains a NUL byte; send UTF-8 text") }
            if inString {
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): inString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                guard depth <= maximumDepth else {
                    throw JSONError(.malformedJSON, "the JSON text is nested deeper than \(maximumDepth) levels")
                }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
    }

    private static func convert(_ value: UnsafeMutablePointer<json_t>) throws(JSONError) -> JSONValue {
        switch value.pointee.type {
        case JSON_NULL: return .null
        case JSON_TRUE: return .bool(true)
        case JSON_FALSE: return .bool(false)
        case JSON_INTEGER: return .integer(Int64(json_integer_value(value)))
        case JSON_REAL: return .real(json_real_value(value))
        case JSON_STRING: return .string(text(json_string_value(value), json_string_length(value)))
        case JSON_ARRAY:
            var elements: [JSONValue] = []
            let count = json_array_size(value)
            elements.reserveCapacity(count)
            for index in 0..<count {
                guard let element = json_array_get(value, index) else { continue }
                elements.append(try convert(element))
            }
            return .array(elements)
        case JSON_OBJECT:
            var members: [String: JSONValue] = [:]
            members.reserveCapacity(json_object_size(value))
            var iterator = json_object_iter(value)
            while let current = iterator {
                if let key = json_object_iter_key(current), let member = json_object_iter_value(current) {
                    // Names that are equal under Unicode equivalence are two members to jansson and one to Swift.
                    let name = String(cString: key)
                    guard members.updateValue(try convert(member), forKey: name) == nil else {
                        throw JSONError(.malformedJSON, "a member occurs twice")
                    }
                }
                iterator = json_object_iter_next(value, current)
            }
            return .object(members)
        default: throw JSONError(.malformedJSON, "the JSON text has a value of unknown type")
        }
    }

    private static func text(_ bytes: UnsafePointer<CChar>?, _ count: Int) -> String {
        guard let bytes else { return "" }
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }
}
