import ApproovBase

extension JSONRedactor {
    /// Copies or redacts a scalar, or begins a container; returns the text of a string.
    @discardableResult
    mutating func value(_ secrecy: Secrecy) throws(Malformed) -> [UInt8]? {
        space()
        guard position < input.count else { throw Malformed() }
        switch input[position] {
        case UInt8(ascii: "{"):
            containers.append(.object(secrecy))
            openObjects.append(objects)
            objects += 1
            copy(1)
        case UInt8(ascii: "["):
            containers.append(.array(secrecy))
            copy(1)
        case UInt8(ascii: "\""): return try string(secrecy)
        default: try scalar(secrecy)
        }
        return nil
    }

    private mutating func string(_ secrecy: Secrecy) throws(Malformed) -> [UInt8]? {
        let end = try endOfString()
        let quoted = input[position..<end]
        let text = Self.text(of: quoted.dropFirst().dropLast())
        // A string that cannot be read may hide the name of a secret.
        if let text, secrecy == .none, !names.mustReplace(text, noting: &secrets) {
            copy(end - position)
            return text
        }
        // The other body may have it with or without escapes.
        switch secrecy {
        case .own:
            secrets.note(quoted.dropFirst().dropLast())
            if let text { secrets.note(text) }
        case .none: if let text { secrets.noteUnstructured(text) }
        case .inherited: break
        }
        output += "\"\(RedactedText.plain)\"".utf8
        position = end
        return text
    }

    private mutating func scalar(_ secrecy: Secrecy) throws(Malformed) {
        let end = input[position...].firstIndex { !Self.isScalar($0) } ?? input.count
        let scalar = input[position..<end]
        let isWord = ["true", "false", "null"].contains { scalar.elementsEqual($0.utf8) }
        // Anything else, such as a word without quotation marks, may be a secret.
        guard isWord || Self.isNumber(scalar) else { throw Malformed() }
        guard secrecy != .none, !isWord else { return copy(end - position) }
        if secrecy == .own { secrets.note(scalar) }
        output.append(UInt8(ascii: "0"))
        position = end
    }

    /// Copies a member's name, or writes a substitute if it may be a key below a secret name; returns the name without escapes.
    mutating func name(within secrecy: Secrecy) throws(Malformed) -> String {
        guard position < input.count, input[position] == UInt8(ascii: "\"") else { throw Malformed() }
        let end = try endOfString()
        guard let text = Self.text(of: input[position + 1..<end - 1]) else { throw Malformed() }
        let name = String(decoding: text, as: UTF8.self)
        guard secrecy != .none, Self.mayBeKey(text), !names.keeps(name) else {
            copy(end - position)
            return name
        }
        // Not looked for elsewhere: there, equal substitutes could make one name of several.
        substitutes += 1
        output += "\"\(RedactedText.numbered(substitutes))\"".utf8
        position = end
        return name
    }

    /// Whether a name may be a key rather than a word such as `address1` or `sha256Hash`.
    private static func mayBeKey(_ name: [UInt8]) -> Bool {
        name.count >= 16 && name.count { (0x30...0x39).contains($0) } >= 2 && Texts.looksLikeKey(name)
    }

    /// The characters of a string, given without its quotation marks; nil when its escapes are not those of JSON.
    ///
    /// Escapes must not hide a name, so `"passw\u006frd"` is read as JSON.
    static func text(of string: ArraySlice<UInt8>) -> [UInt8]? {
        guard string.contains(UInt8(ascii: "\\")) else { return Array(string) }
        let list = Array("[\"".utf8) + string + Array("\"]".utf8)
        guard case .array(let texts)? = try? JSONValue(parsing: list, limit: list.count), case .string(let text)? = texts.first else {
            return nil
        }
        return Array(text.utf8)
    }

    /// Whether a byte may be part of a number, `true`, `false` or `null`.
    private static func isScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }

    /// Whether a text is a number by the grammar of RFC 8259, section 6.
    private static func isNumber(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let whole = digits(&rest)
        guard whole == 1 || (whole > 1 && text.first { $0 != UInt8(ascii: "-") } != UInt8(ascii: "0")) else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard digits(&rest) > 0 else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            guard digits(&rest) > 0 else { return false }
        }
        return rest.isEmpty
    }

    /// Drops the digits at the beginning, and returns their number.
    private static func digits(_ text: inout ArraySlice<UInt8>) -> Int {
        let count = text.prefix { (0x30...0x39).contains($0) }.count
        text = text.dropFirst(count)
        return count
    }
}
