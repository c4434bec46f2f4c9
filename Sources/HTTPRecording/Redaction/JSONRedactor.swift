import ApproovBase

/// Redacts the values of secret members in JSON (RFC 8259), and leaves every other byte as it is.
///
/// It keeps the server's own spelling of numbers, the order of members and the white space. Nesting of any depth takes one bit or so of
/// memory per level, and no stack.
struct JSONRedactor {
    /// The text is not JSON, so its secrets cannot be found.
    struct Malformed: Error {}

    private enum Container {
        case array(isSecret: Bool)
        case object(isSecret: Bool)
    }

    private let names: SecretNames
    private let input: [UInt8]
    private var position = 0
    private var output: [UInt8] = []
    private var containers: [Container] = []

    /// Returns the text without the secret values: strings become `"REDACTED"` and numbers 0.
    ///
    /// - Throws: ``Malformed`` when brackets, quotes or members are not those of JSON.
    static func redacted(_ text: [UInt8], _ names: SecretNames) throws(Malformed) -> [UInt8] {
        var redactor = JSONRedactor(names: names, input: text)
        redactor.output.reserveCapacity(text.count)
        try redactor.run()
        return redactor.output
    }

    private init(names: SecretNames, input: [UInt8]) {
        self.names = names
        self.input = input
    }

    private mutating func run() throws(Malformed) {
        try value(isSecret: false)
        while let container = containers.last {
            space()
            guard position < input.count else { throw Malformed() }
            let byte = input[position]
            switch container {
            case .array(let isSecret):
                if byte == UInt8(ascii: "]") {
                    close()
                } else {
                    if byte == UInt8(ascii: ",") { copy(1) }
                    try value(isSecret: isSecret)
                }
            case .object(let isSecret):
                if byte == UInt8(ascii: "}") {
                    close()
                } else {
                    if byte == UInt8(ascii: ",") { copy(1) }
                    space()
                    let name = try name()
                    space()
                    guard position < input.count, input[position] == UInt8(ascii: ":") else { throw Malformed() }
                    copy(1)
                    try value(isSecret: isSecret || names.contains(name))
                }
            }
        }
        space()
        guard position == input.count else { throw Malformed() }
    }

    private mutating func value(isSecret: Bool) throws(Malformed) {
        space()
        guard position < input.count else { throw Malformed() }
        switch input[position] {
        case UInt8(ascii: "{"):
            containers.append(.object(isSecret: isSecret))
            copy(1)
        case UInt8(ascii: "["):
            containers.append(.array(isSecret: isSecret))
            copy(1)
        case UInt8(ascii: "\""):
            let end = try endOfString()
            if isSecret {
                output += "\"\(RedactedText.plain)\"".utf8
                position = end
            } else {
                copy(end - position)
            }
        default:
            var end = position
            while end < input.count, Self.isScalar(input[end]) { end += 1 }
            guard end > position else { throw Malformed() }
            let isNumber = input[position] == UInt8(ascii: "-") || (0x30...0x39).contains(input[position])
            if isSecret, isNumber {
                output.append(UInt8(ascii: "0"))
                position = end
            } else {
                copy(end - position)
            }
        }
    }

    /// Copies a member's name and returns it without escapes.
    private mutating func name() throws(Malformed) -> String {
        guard position < input.count, input[position] == UInt8(ascii: "\"") else { throw Malformed() }
        let end = try endOfString()
        let quoted = input[position..<end]
        copy(end - position)
        guard quoted.contains(UInt8(ascii: "\\")) else { return String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self) }
        // Escapes must not hide a name, so "passw\u006frd" is read as JSON.
        let list = [UInt8(ascii: "[")] + quoted + [UInt8(ascii: "]")]
        guard case .array(let names)? = try? JSONValue(parsing: list, limit: list.count), case .string(let name)? = names.first else {
            throw Malformed()
        }
        return name
    }

    /// The index after the closing quote.
    private func endOfString() throws(Malformed) -> Int {
        var index = position + 1
        while index < input.count {
            switch input[index] {
            case UInt8(ascii: "\\"): index += 2
            case UInt8(ascii: "\""): return index + 1
            default: index += 1
            }
        }
        throw Malformed()
    }

    private mutating func space() {
        while position < input.count, [0x20, 0x09, 0x0A, 0x0D].contains(input[position]) { copy(1) }
    }

    private mutating func copy(_ count: Int) {
        output += input[position..<position + count]
        position += count
    }

    private mutating func close() {
        copy(1)
        containers.removeLast()
    }

    /// Whether a byte may be part of a number, `true`, `false` or `null`.
    private static func isScalar(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }
}
