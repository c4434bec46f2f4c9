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
    /// The number of members so far whose names have substitutes.
    var substitutes = 0
    /// The values that were redacted.
    var secrets: Set<NotedSecret> = []
    /// What a first reading found that the labels of objects announce.
    private let announced: [Int: Announcement]
    /// What this reading finds.
    private var announcing: [Int: Announcement] = [:]
    /// The numbers of the objects that a first reading found to be JSON Web Keys.
    private let webKeys: Set<Int>
    /// Those that this reading finds.
    private var foundWebKeys: Set<Int> = []

    /// Returns the text without the secret values: strings become `"REDACTED"` and numbers 0.
    ///
    /// Names below a secret name that may be keys themselves become `"REDACTED-"` with a number.
    ///
    /// - Parameters:
    ///   - text: The JSON.
    ///   - names: The names of secrets.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: The JSON for the recording.
    /// - Throws: ``Malformed`` when brackets, quotes, members or scalars are not those of JSON.
    static func redacted(_ text: [UInt8], _ names: SecretNames, _ secrets: inout Set<NotedSecret>) throws(Malformed) -> [UInt8] {
        var redactor = JSONRedactor(names: names, input: text)
        // Also those before the place where the text turns out not to be JSON.
        defer { secrets.formUnion(redactor.secrets) }
        try redactor.run()
        if !redactor.announcing.isEmpty || !redactor.foundWebKeys.isEmpty {
            // The members of an object have no order, so a label or the type of a key may follow the value that it makes secret.
            redactor = JSONRedactor(names: names, input: text, announced: redactor.announcing, webKeys: redactor.foundWebKeys)
            try redactor.run()
        }
        return redactor.output
    }

    private init(names: SecretNames, input: [UInt8], announced: [Int: Announcement] = [:], webKeys: Set<Int> = []) {
        self.names = names
        self.input = input
        self.announced = announced
        self.webKeys = webKeys
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
                    let name = try name(within: outer)
                    space()
                    guard position < input.count, input[position] == UInt8(ascii: ":") else { throw Malformed() }
                    copy(1)
                    if name == "kty" { foundWebKeys.insert(number) }
                    let isOwn =
                        names.contains(name) || SecretNames.isAnnounced(Array(name.utf8)[...], by: announced[number] ?? .nothing)
                        || (webKeys.contains(number) && names.isPrivate(keyMember: name))
                    let text = try value(isOwn ? .own : outer == .none ? .none : .inherited)
                    if let text { note(names.announcement(byMember: Array(name.utf8)[...], text), of: number) }
                }
            }
        }
        space()
        guard position == input.count else { throw Malformed() }
    }

    /// Notes what a label of an object announces; of two labels, the one that announces more counts.
    private mutating func note(_ announcement: Announcement, of object: Int) {
        guard announcement > announcing[object] ?? .nothing else { return }
        announcing[object] = announcement
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
        while position < input.count, Texts.isBlank(input[position]) { copy(1) }
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
