import ApproovBase

/// Finds what may be a secret in the values of header fields.
enum HeadSecrets {
    /// Notes what may be a secret in the value of a field.
    ///
    /// - Parameters:
    ///   - value: The field's value.
    ///   - name: The field's name in lower case.
    ///   - isSecret: Whether the name is that of a secret.
    ///   - secrets: Gets the values.
    static func note(_ value: String, of name: String, isSecret: Bool, _ secrets: inout Set<NotedSecret>) {
        switch name {
        case "cookie": for pair in value.split(separator: ";") { noteCookie(pair, &secrets) }
        // What follows the first pair are attributes, such as the path.
        case "set-cookie": noteCookie(value.prefix { $0 != ";" }, &secrets)
        default:
            secrets.note(value, as: isSecret ? .credential : .other)
            // A credential follows its scheme (RFC 9110, section 11.4).
            if isSecret, let blank = value.firstIndex(of: " ") {
                let credential = withoutQuotes(value[blank...])
                secrets.note(credential, as: .credential)
                if value[..<blank].lowercased() == "basic" { noteBasic(credential, &secrets) }
            }
            for part in value.split(whereSeparator: { " ;,=".contains($0) }) { secrets.note(withoutQuotes(part), as: .other) }
        }
    }

    /// Returns the challenges of a server for the recording, without what follows a scheme if it is no parameter: Negotiate and NTLM send
    /// part of a login in its place (RFC 9110, section 11.3).
    static func challenge(_ value: String, _ secrets: inout Set<NotedSecret>) -> String {
        parts(of: value).map { challenge in
            let words = challenge.split(separator: " ")
            guard words.count == 2, isToken68(words[1]) else { return String(challenge) }
            // What looks like a credential may be a word: servers do not always quote their texts.
            secrets.note(words[1], as: .password)
            return "\(challenge.prefix { $0 == " " })\(words[0]) \(RedactedText.plain)"
        }.joined(separator: ",")
    }

    /// The parts of a value between commas that are not in a quoted string (RFC 9110, section 5.6.4).
    private static func parts(of value: String) -> [Substring] {
        var parts: [Substring] = []
        var begin = value.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in value.indices {
            let character = value[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                isQuoted.toggle()
            } else if character == ",", !isQuoted {
                parts.append(value[begin..<index])
                begin = value.index(after: index)
            }
        }
        // A string without its end could hide a credential.
        guard !isQuoted else { return value.split(separator: ",", omittingEmptySubsequences: false) }
        parts.append(value[begin...])
        return parts
    }

    /// Whether a text is a `token68` (RFC 9110, section 11.2): it may have `=` at its end only.
    private static func isToken68(_ text: Substring) -> Bool {
        let rest = text.drop { $0.isASCII && ($0.isLetter || $0.isNumber || "-._~+/".contains($0)) }
        return rest.startIndex > text.startIndex && rest.allSatisfy { $0 == "=" }
    }

    /// Notes the user's name with the password, and each of them (RFC 7617).
    private static func noteBasic(_ credential: Substring, _ secrets: inout Set<NotedSecret>) {
        guard let bytes = Base64.decode(String(credential)) else { return }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let colon = text.firstIndex(of: ":") else { return }
        let password = text[text.index(after: colon)...]
        secrets.note(text, as: .credential)
        // Some servers take a key in the place of the user's name, most often with an empty password.
        secrets.note(text[..<colon], as: password.isEmpty ? .password : .other)
        secrets.note(password, as: .password)
    }

    private static func noteCookie(_ pair: Substring, _ secrets: inout Set<NotedSecret>) {
        // Some cookies are words, such as `consent=accepted`.
        let value = pair.firstIndex(of: "=").map { pair[pair.index(after: $0)...] } ?? pair
        secrets.note(withoutQuotes(value), as: .cookie)
    }

    /// The text without blanks and quotation marks at its ends.
    private static func withoutQuotes(_ text: Substring) -> Substring {
        let begin = text.drop { " \t\"'".contains($0) }
        guard let last = begin.lastIndex(where: { !" \t\"'".contains($0) }) else { return begin }
        return begin[...last]
    }
}
