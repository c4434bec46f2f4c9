import ApproovBase

/// Redacts the values of secret elements and attributes in XML 1.0, and leaves almost every other byte as it is.
///
/// It reads UTF-8 without an internal document type declaration, so that no entity can hide a name. It does not validate: it refuses
/// what keeps it from telling names and values apart. Each byte is read a fixed number of times, and nesting is bounded.
struct XMLRedactor {
    /// The text is not XML that can be read, so its secrets cannot be found.
    struct Malformed: Error {}

    struct Element {
        let name: ArraySlice<UInt8>
        /// Whether its name, or the element around it, makes it secret, whatever its own label says.
        let isWithinSecret: Bool
        /// Whether its text is secret: by its name, by a label, or by text before.
        var secrecy: Secrecy
        /// Whether all that is in its children is secret.
        var childSecrecy: Secrecy
        /// What its attributes announce.
        let ownAnnouncement: Announcement
        /// What the last child called `name` or `key` announces.
        var childAnnouncement = Announcement.nothing
        /// The text so far of an element that is called `name` or `key`.
        var label: [UInt8] = []

        var announcement: Announcement { max(ownAnnouncement, childAnnouncement) }
    }

    /// The nesting of elements beyond which a document is refused.
    static let maximumDepth = 1_000
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    let names: SecretNames
    let values: XMLValues
    let input: [UInt8]
    var position = 0
    var output: [UInt8] = []
    var open: [Element] = []
    var hasRoot = false
    /// The values that were redacted.
    var secrets: Set<NotedSecret> = []

    /// Returns the text without the secret values: they become `REDACTED`, and numbers 0.
    ///
    /// - Parameters:
    ///   - text: The document.
    ///   - names: The names of secrets.
    ///   - secrets: Gets the values that were redacted.
    /// - Returns: The document for the recording.
    /// - Throws: ``Malformed`` when the text is no UTF-8, tags do not match, or it declares entities.
    static func redacted(_ text: [UInt8], _ names: SecretNames, _ secrets: inout Set<NotedSecret>) throws(Malformed) -> [UInt8] {
        guard !text.contains(0), String(validating: text, as: UTF8.self) != nil else { throw Malformed() }
        var redactor = XMLRedactor(names: names, input: text)
        redactor.output.reserveCapacity(text.count)
        // Also those before the place where the text turns out to be malformed.
        defer { secrets.formUnion(redactor.secrets) }
        try redactor.run()
        return redactor.output
    }

    /// Whether an encoding writes markup as ASCII does, and bytes that are valid UTF-8 may be read as UTF-8.
    static func reads(encoding: some StringProtocol) -> Bool {
        ["utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1"].contains(encoding.lowercased())
    }

    private init(names: SecretNames, input: [UInt8]) {
        self.names = names
        values = XMLValues(names)
        self.input = input
    }

    private mutating func run() throws(Malformed) {
        if input.starts(with: Self.byteOrderMark) { copy(to: Self.byteOrderMark.count) }
        if isNext("<?xml ") || isNext("<?xml\t") || isNext("<?xml\n") || isNext("<?xml\r") { try declaration() }
        while position < input.count {
            if input[position] != UInt8(ascii: "<") {
                let end = input[position...].firstIndex(of: UInt8(ascii: "<")) ?? input.count
                try text(position..<end, upTo: end)
            } else if isNext("<![CDATA[") {
                let end = try end(after: "]]>", from: position + 9)
                try text(position + 9..<end - 3, upTo: end)
            } else if isNext("</") {
                try endTag()
            } else if isNext("<!--") {
                // Readers ignore comments, and an old password may be in one.
                position = try end(after: "-->", from: position + 4)
                output += "<!--\(RedactedText.plain)-->".utf8
            } else if isNext("<?") {
                try instruction()
            } else if isNext("<!DOCTYPE") {
                try documentType()
            } else {
                try startTag()
            }
        }
        guard open.isEmpty, hasRoot else { throw Malformed() }
    }

    // MARK: Text

    /// Redacts the text of an element: characters, or the content of a CDATA section, which ends at the same place or before.
    private mutating func text(_ range: Range<Int>, upTo end: Int) throws(Malformed) {
        let text = input[range]
        guard let element = open.last else {
            guard range.upperBound == end, text.allSatisfy(Texts.isBlank) else { throw Malformed() }
            return copy(to: end)
        }
        if SecretNames.isLabel(element.name), element.label.count < 256 {
            let part = element.label.isEmpty ? text.drop(while: Texts.isBlank) : text
            open[open.count - 1].label += part.prefix(256)
        }
        let secrecy = element.announcement == .everything ? .own : element.secrecy
        guard secrecy != .none || values.mentionsSecret(text) else { return copy(to: end) }
        let replacement = values.replacement(for: text, secrecy, &secrets)
        // A CDATA section, a comment or a child may divide a secret from its name, or from its own rest.
        if secrecy == .none { (open[open.count - 1].secrecy, open[open.count - 1].childSecrecy) = (.inherited, .inherited) }
        guard let replacement else { return copy(to: end) }
        output += replacement
        position = end
    }

    // MARK: The rest

    private mutating func declaration() throws(Malformed) {
        let end = try end(after: "?>", from: position)
        let text = String(decoding: input[position..<end], as: UTF8.self)
        if let word = text.firstRange(of: "encoding") {
            let parts = text[word.upperBound...].split(omittingEmptySubsequences: false) { $0 == "\"" || $0 == "'" }
            guard parts.count >= 2, Self.reads(encoding: parts[1]) else { throw Malformed() }
        }
        copy(to: end)
    }

    /// Keeps the target of a processing instruction, and not its text, whose form only the target knows.
    private mutating func instruction() throws(Malformed) {
        var index = position + 2
        _ = try name(at: &index)
        let end = try end(after: "?>", from: index)
        copy(to: index)
        output += " \(RedactedText.plain)?>".utf8
        position = end
    }

    /// Copies a document type declaration without entities.
    private mutating func documentType() throws(Malformed) {
        guard open.isEmpty, !hasRoot, let end = input[position...].firstIndex(of: UInt8(ascii: ">")),
            !input[position..<end].contains(where: { $0 == UInt8(ascii: "[") }),
            !input[(position + 1)..<end].contains(where: { $0 == UInt8(ascii: "<") })
        else { throw Malformed() }
        copy(to: end + 1)
    }

    private func isNext(_ text: String) -> Bool { input[position...].starts(with: text.utf8) }

    private func end(after terminator: String, from begin: Int) throws(Malformed) -> Int {
        let bytes = Array(terminator.utf8)
        var index = begin
        while index + bytes.count <= input.count {
            if input[index..<index + bytes.count].elementsEqual(bytes) { return index + bytes.count }
            index += 1
        }
        throw Malformed()
    }

    mutating func copy(to end: Int) {
        output += input[position..<end]
        position = end
    }
}
