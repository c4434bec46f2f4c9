/// Redacts the values of secret members in JSON (RFC 8259), and leaves every other byte as it is.
///
/// It keeps the server's own spelling of numbers, the order of members and the white space. Nesting of any depth takes a few bytes of
/// memory per level, and no stack.
struct JSONRedactor {
    /// The text is not JSON, so its secrets cannot be found.
    struct Malformed: Error {}

    enum Container {
        case array(Secrecy)
        case object(Secrecy)
    }

    let names: SecretNames
    let input: [UInt8]
    var position = 0
    var output: [UInt8] = []
    var containers: [Container] = []
    /// The number of objects so far.
    var objects = 0
    /// The numbers of the open objects, in the order of their beginnings.
    var openObjects: [Int] = []
    /// The values that were redacted.
    var secrets: Set<String> = []
    /// The objects that are known to have a member `name` or `key` with the name of a secret, which their other members hold.
    private let labelled: Set<Int>
    /// Those that were found.
    private var found: Set<Int> = []

    /// Returns the text without the secret values: strings become `"REDACTED"` and numbers 0.
    ///
    /// - Parameters:
    ///   - text: The JSON.
    ///   - names: The names of secrets.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: The JSON for the recording.
    /// - Throws: ``Malformed`` when brackets, quotes, members or scalars are not those of JSON.
    static func redacted(_ text: [UInt8], _ names: SecretNames, _ secrets: inout Set<String>) throws(Malformed) -> [UInt8] {
        var redactor = JSONRedactor(names: names, input: text)
        try redactor.run()
        if !redactor.found.isEmpty {
            // The members of an object have no order, so a label may follow the value that it announces.
            redactor = JSONRedactor(names: names, input: text, labelled: redactor.found)
            try redactor.run()
        }
        secrets.formUnion(redactor.secrets)
        return redactor.output
    }

    private init(names: SecretNames, input: [UInt8], labelled: Set<Int> = []) {
        self.names = names
        self.input = input
        self.labelled = labelled
        output.reserveCapacity(input.count)
    }

    private mutating func run() throws(Malformed) {
        try value(.none)
        while let container = containers.last {
            space()
            guard position < input.count else { throw Malformed() }
            let byte = input[position]
            switch container {
            case .array(let secrecy):
                if byte == UInt8(ascii: "]") {
                    close()
                } else {
                    if byte == UInt8(ascii: ",") { copy(1) }
                    try value(secrecy)
                }
            case .object(let outer):
                let number = openObjects[openObjects.count - 1]
                if byte == UInt8(ascii: "}") {
                    openObjects.removeLast()
                    close()
                } else {
                    if byte == UInt8(ascii: ",") { copy(1) }
                    space()
                    let name = try name()
                    space()
                    guard position < input.count, input[position] == UInt8(ascii: ":") else { throw Malformed() }
                    copy(1)
                    let isLabel = XMLValues.isLabel(Array(name.utf8)[...])
                    let isOwn = names.contains(name) || !isLabel && labelled.contains(number)
                    let text = try value(isOwn ? .own : outer == .none ? .none : .inherited)
                    if isLabel, let text, names.isExactName(text) { found.insert(number) }
                }
            }
        }
        space()
        guard position == input.count else { throw Malformed() }
    }

    /// The index after the closing quote.
    func endOfString() throws(Malformed) -> Int {
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

    mutating func space() {
        while position < input.count, [0x20, 0x09, 0x0A, 0x0D].contains(input[position]) { copy(1) }
    }

    mutating func copy(_ count: Int) {
        output += input[position..<position + count]
        position += count
    }

    private mutating func close() {
        copy(1)
        containers.removeLast()
    }
}
