/// The values of elements and attributes in XML, and what a recording has in their places.
struct XMLValues {
    private let names: SecretNames

    init(_ names: SecretNames) { self.names = names }

    /// The text in the place of a value; nil to keep it.
    ///
    /// As in JSON, white space, `true` and `false` stay, and a number becomes 0. A value that is not secret by its name may contain another
    /// document, a query or a setting. It is replaced as a whole if a secret's name is in it.
    ///
    /// - Parameters:
    ///   - value: The value with its references.
    ///   - secrecy: Whether it is secret by its name or its element.
    ///   - secrets: Gets the value if it is replaced, unless its secrecy is inherited.
    /// - Returns: The new value.
    func replacement(for value: ArraySlice<UInt8>, _ secrecy: Secrecy, _ secrets: inout Set<NotedSecret>) -> [UInt8]? {
        let text = value.drop(while: Texts.isBlank)
        if secrecy == .none {
            guard names.isSetting(value, &secrets) else { return nil }
        } else {
            guard !text.isEmpty, !["true", "false"].contains(where: { text.elementsEqual($0.utf8) }) else { return nil }
        }
        // The other body may have the value without the white space, and without references.
        let trimmed = Texts.trimmed(value)
        switch secrecy {
        case .own:
            secrets.note(trimmed)
            secrets.note(References.decodedOnce(trimmed))
            secrets.note(References.decoded(trimmed))
        case .none: secrets.noteUnstructured(References.decoded(trimmed))
        case .inherited: break
        }
        guard secrecy != .none else { return Array(RedactedText.plain.utf8) }
        let isNumber = text.allSatisfy { (0x30...0x39).contains($0) || "-.".utf8.contains($0) || Texts.isBlank($0) }
        return isNumber ? [UInt8(ascii: "0")] : Array(RedactedText.plain.utf8)
    }

    /// Whether the name of a secret, or a URL with a password, is in a value with references.
    func mentionsSecret(_ value: ArraySlice<UInt8>) -> Bool {
        let stages = TextDecoding.stages(of: Array(value))
        return names.isMentioned(in: stages[stages.count - 1]) || stages.contains { URLPasswords.next(in: $0[...]) != nil }
    }

    /// Whether an attribute declares a namespace, without which the document could not be read.
    static func declaresNamespace(_ name: ArraySlice<UInt8>) -> Bool {
        name.elementsEqual("xmlns".utf8) || name.starts(with: "xmlns:".utf8)
    }
}
