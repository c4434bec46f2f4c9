/// Finds the users' names and passwords in URLs (RFC 3986, section 3.2.1), such as `postgres://user:password@host/database`, and names
/// that may be keys, as in `https://ghp_16C7e42F292c@host/`.
enum URLPasswords {
    /// Returns a text with `REDACTED` in the place of each name and password.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - secrets: Gets the names, with their passwords if they have any, and the passwords.
    /// - Returns: The text for the recording.
    static func redacted(_ text: [UInt8], _ secrets: inout Set<NotedSecret>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var rest = text[...]
        while let user = next(in: rest) {
            let password = text[user].drop { $0 != UInt8(ascii: ":") }.dropFirst()
            for secret in [text[user], password] { secrets.note(String(decoding: secret, as: UTF8.self), as: .password) }
            output += rest[..<user.lowerBound]
            output += RedactedText.plain.utf8
            rest = text[user.upperBound...]
        }
        return output + rest
    }

    /// Notes the passwords in the stages of a text; returns whether there are any.
    static func note(in stages: [[UInt8]], _ secrets: inout Set<NotedSecret>) -> Bool {
        var hasPassword = false
        for text in stages where redacted(text, &secrets) != text { hasPassword = true }
        return hasPassword
    }

    /// Where the first user's name is that has a password, or may be a key; nil when no URL has one.
    static func next(in text: ArraySlice<UInt8>) -> Range<Int>? {
        var position = text.startIndex
        while let colon = text[position...].firstIndex(of: UInt8(ascii: ":")) {
            position = colon + 1
            guard text[position...].starts(with: "//".utf8) else { continue }
            position += 2
            let authority = text[position...].prefix { !"/?#\"'<>".utf8.contains($0) && !Texts.isBlank($0) }
            // Some passwords have an @ that should be encoded.
            guard let end = authority.lastIndex(of: UInt8(ascii: "@")) else { continue }
            // A password may begin as a port does, so `https://a.test:8443,bob@a.test` is treated as having a password.
            let user = text[position..<end]
            // Some servers take a key in the place of the user's name.
            if user.contains(UInt8(ascii: ":")) || Texts.looksLikeKey(user) { return position..<end }
        }
        return nil
    }
}
