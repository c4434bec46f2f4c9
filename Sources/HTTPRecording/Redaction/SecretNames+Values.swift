/// Finds the names of secrets in the text of values whose own names are not secret.
extension SecretNames {
    /// Whether the name of a secret is a word of a text.
    func isMentioned(in text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        if Self.words(of: text).contains(where: contains) { return true }
        return text.utf8.contains(UInt8(ascii: ".")) && Self.words(of: text, joinedBy: ".").contains(where: contains)
    }

    /// Whether a text is the name of a secret, or has it as a word.
    func isName(_ text: [UInt8]) -> Bool {
        isMentioned(in: text) || contains(String(decoding: XMLValues.trimmed(text[...]), as: UTF8.self))
    }

    /// Whether a text without blanks is the name of a secret; other text with such a word, such as a title, announces nothing.
    func isExactName(_ text: [UInt8]) -> Bool {
        let name = XMLValues.trimmed(text[...])
        return !name.contains(where: XMLValues.isBlank) && contains(String(decoding: name, as: UTF8.self))
    }

    /// Whether the name of a secret stands before a value in a text: before `=` or `:`, in a tag, or as a label in JSON.
    ///
    /// - Parameters:
    ///   - text: The text without escapes and references.
    ///   - secrets: Gets the values of its settings.
    /// - Returns: Whether the text must be replaced.
    func areBeforeValues(in text: [UInt8], _ secrets: inout Set<String>) -> Bool {
        // Most values have none of these characters, and need no search for names.
        guard text.contains(where: { "<=:".utf8.contains($0) }), isMentioned(in: text) else { return false }
        // A document that is JSON may have labels. Escapes double with each document inside another one, so few fit.
        if let first = text.first(where: { !XMLValues.isBlank($0) }), "{[".utf8.contains(first),
            let document = try? JSONRedactor.redacted(text, self, &secrets), document != text
        {
            return true
        }
        if TextRedactor.redacted(text, self, &secrets) != text { return true }
        return text.split(separator: UInt8(ascii: "<")).dropFirst(text.first == UInt8(ascii: "<") ? 0 : 1).contains { tag in
            let name = tag.drop { $0 == UInt8(ascii: "/") }.prefix { !XMLValues.isBlank($0) && !"/>".utf8.contains($0) }
            return contains(XMLValues.localName(name))
        }
    }

    /// Whether a text has a query, a setting or a document in which the name of a secret is.
    ///
    /// - Parameters:
    ///   - text: The text without escapes and references.
    ///   - secrets: Gets the values of its settings.
    /// - Returns: Whether the text must be replaced.
    func isSetting(_ text: [UInt8], _ secrets: inout Set<String>) -> Bool {
        // Most values have none of these characters, and need no search for names.
        guard text.contains(where: { "<{=:".utf8.contains($0) }), isMentioned(in: text) else { return false }
        let hasSetting = TextRedactor.redacted(text, self, &secrets) != text
        return hasSetting || text.contains { "<{=".utf8.contains($0) }
    }
}
