/// Finds the names of secrets in the text of values whose own names are not secret.
extension SecretNames {
    /// Whether the name of a secret is a word of a text.
    func isMentioned(in text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        // Each word once: a text may have the same ones very often.
        if Set(Self.words(of: text)).contains(where: contains) { return true }
        return text.utf8.contains(UInt8(ascii: ".")) && Set(Self.words(of: text, joinedBy: ".")).contains(where: contains)
    }

    /// Whether a value of JSON or of a form has a URL with a password, or a query, a setting or a document in which the name of a secret
    /// stands before its value.
    ///
    /// It does not read the document, so its time grows with the length alone, however many documents are inside one another.
    ///
    /// - Parameters:
    ///   - text: The value without the escapes of the body.
    ///   - secrets: Gets the values of its settings.
    /// - Returns: Whether the value must be replaced as a whole.
    func mustReplace(_ text: [UInt8], noting secrets: inout Set<NotedSecret>) -> Bool {
        // Most values have none of these characters, and need no search for names.
        guard text.contains(where: { "<=:%&\\".utf8.contains($0) }) else { return false }
        let stages = TextDecoding.stages(of: text)
        let hasPassword = URLPasswords.note(in: stages, &secrets)
        let decoded = stages.last ?? text
        guard isMentioned(in: decoded) else { return hasPassword }
        if TextRedactor.redacted(decoded, self, &secrets) != decoded || hasPassword { return true }
        return decoded.contains { "{<".utf8.contains($0) } && standsAlone(in: decoded)
    }

    /// Whether the name of a secret stands alone between quotation marks or the ends of tags: as a label, a member, a tag, or the whole
    /// text of an element or attribute.
    private func standsAlone(in text: [UInt8]) -> Bool {
        var begin: Int?
        for (index, byte) in text.enumerated() where "\"'<>".utf8.contains(byte) {
            if let begin, isName(text[begin..<index], isTag: text[begin - 1] == UInt8(ascii: "<")) { return true }
            begin = index + 1
        }
        return false
    }

    /// Whether a piece of text between two delimiters is the name of a secret and nothing else; of a tag, its name counts.
    private func isName(_ piece: ArraySlice<UInt8>, isTag: Bool) -> Bool {
        var name = piece.drop(while: isMargin)
        if isTag {
            if name.first == UInt8(ascii: "/") { name = name.dropFirst() }
            name = name.prefix { !Texts.isBlank($0) && $0 != UInt8(ascii: "/") }
            name = name[((name.lastIndex(of: UInt8(ascii: ":")) ?? name.startIndex - 1) + 1)...]
        }
        name = name[..<((name.lastIndex { !isMargin($0) } ?? name.startIndex - 1) + 1)]
        guard !name.isEmpty, name.allSatisfy(TextRedactor.isWord) else { return false }
        return contains(String(decoding: name, as: UTF8.self))
    }

    /// Whether a byte may be around a name: a blank, or the backslash of an escaped quotation mark.
    private func isMargin(_ byte: UInt8) -> Bool { Texts.isBlank(byte) || byte == UInt8(ascii: "\\") }

    /// Whether a value of XML has a URL with a password, or a query, a setting or a document in which the name of a secret is.
    ///
    /// - Parameters:
    ///   - text: The text with its references.
    ///   - secrets: Gets the values of its settings.
    /// - Returns: Whether the text must be replaced.
    func isSetting(_ text: ArraySlice<UInt8>, _ secrets: inout Set<NotedSecret>) -> Bool {
        // Most values have none of these characters, and need no search for names.
        guard text.contains(where: { "<{=:&%\\".utf8.contains($0) }) else { return false }
        let stages = TextDecoding.stages(of: Array(text))
        let hasPassword = URLPasswords.note(in: stages, &secrets)
        let decoded = stages.last ?? Array(text)
        guard isMentioned(in: decoded) else { return hasPassword }
        let hasSetting = TextRedactor.redacted(decoded, self, &secrets) != decoded
        return hasPassword || hasSetting || decoded.contains { "<{=".utf8.contains($0) }
    }
}
