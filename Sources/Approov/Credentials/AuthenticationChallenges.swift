import FoundationNetworking

/// The challenges of a response: its WWW-Authenticate fields (RFC 9110, section 11.6.1).
struct AuthenticationChallenges {
    /// The schemes in lower case, in order.
    private(set) var schemes: [String] = []
    /// Whether a challenge says that the credential is valid but allows too little (RFC 6750, section 3.1).
    private(set) var isScopeInsufficient = false

    /// Reads the challenges; what is malformed counts as a scheme without meaning.
    ///
    /// - Parameter text: The field's lines, joined with commas; only the first 8,192 bytes are read.
    init(_ text: String) {
        for part in Self.parts(of: text.utf8.prefix(8_192)) {
            var parameter = part
            if let (scheme, rest) = Self.beginning(of: part) {
                schemes.append(scheme.lowercased())
                parameter = rest
            }
            let name = parameter.prefix { $0 != "=" && $0 != " " && $0 != "\t" }
            guard name.lowercased() == "error" else { continue }
            let value = parameter.dropFirst(name.count).drop { " \t=".contains($0) }.filter { !"\" \t\\".contains($0) }
            if value.lowercased() == "insufficient_scope" { isScopeInsufficient = true }
        }
    }

    /// Reads the challenges of a response.
    init(_ response: HTTPURLResponse) {
        self.init(response.value(forHTTPHeaderField: "WWW-Authenticate") ?? "")
    }

    /// Whether the challenges ask only for what the session adds itself: the attestation token, or a message signature.
    var concernAttestationAlone: Bool { !schemes.isEmpty && schemes.allSatisfy { $0 == "approov" || $0 == "approov-signature" } }

    /// Returns the challenges that Foundation on Linux does not take for one of the scheme Basic.
    ///
    /// Foundation also splits at the commas inside quoted strings.
    ///
    /// - Parameter text: The field's lines, joined with commas.
    /// - Returns: The other challenges; nil if there is none.
    static func withoutBasic(_ text: String) -> String? {
        var challenges: [String] = []
        for part in parts(of: text.utf8[...]) {
            if beginning(of: part) == nil, let last = challenges.popLast() {
                challenges.append("\(last), \(part)")
            } else {
                challenges.append(String(part))
            }
        }
        let others = challenges.filter { challenge in
            !challenge.split(separator: ",").contains { $0.drop { $0 == " " || $0 == "\t" }.lowercased().hasPrefix("basic") }
        }
        return others.isEmpty ? nil : others.joined(separator: ", ")
    }

    /// The scheme of the challenge that begins with a part, and what follows it; nil if the part is a further parameter.
    private static func beginning(of part: Substring) -> (scheme: Substring, rest: Substring)? {
        let word = part.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
        let rest = part.dropFirst(word.count).drop { $0 == " " || $0 == "\t" }
        return rest.first == "=" ? nil : (word, rest)
    }

    /// Splits at the commas outside quoted strings.
    private static func parts(of bytes: String.UTF8View.SubSequence) -> [Substring] {
        var parts: [Substring] = []
        var start = bytes.startIndex
        var isQuoted = false
        var isEscaped = false
        var index = bytes.startIndex
        func add(_ end: String.Index) {
            let trimmed = Substring(bytes[start..<end]).drop { $0 == " " || $0 == "\t" }
            if !trimmed.isEmpty { parts.append(trimmed) }
        }
        while index < bytes.endIndex {
            switch bytes[index] {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                add(index)
                start = bytes.index(after: index)
            default: break
            }
            index = bytes.index(after: index)
        }
        add(bytes.endIndex)
        return parts
    }
}
