/// Decides by its name whether a value is secret.
struct SecretNames: Sendable {
    /// The names, in lower case, of the header fields that are redacted whatever else the app keeps.
    static let headers: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "signature", "signature-input",
    ]
    /// Words that make a name secret, wherever they stand in it.
    private static let words = [
        "accesskey", "accountkey", "aeskey", "apikey", "appkey", "assertion", "authcode", "authkey", "authorization", "backupcode",
        "clientkey", "cookie", "credential", "csrf", "encryptionkey", "hmackey", "licensekey", "masterkey", "otpcode", "passcode",
        "passkey", "passphrase", "passwd", "password", "privatekey", "recoverycode", "recoverykey", "secret", "securestring",
        "securitycode", "seedphrase", "sessid", "session", "sharedkey", "signature", "signingkey", "subscriptionkey", "tlskey", "token",
        "verifier", "xsrf",
    ]
    /// The words in UTF-8, by their first byte.
    private static let wordsByBeginning = Dictionary(grouping: words.map { Array($0.utf8) }) { $0[0] }
    /// Names that are secret as a whole.
    private static let names: Set<String> = [
        "auth", "bearer", "cvc", "cvv", "devicecode", "jwt", "key", "mnemonic", "otp", "pass", "pin", "psk", "pwd", "sig", "sid",
        "totp", "usercode",
    ]
    /// Words that make a name secret as its last part, as in `userPin` and `db_pwd`.
    private static let lastParts: Set<String> = ["cvc", "cvv", "jwt", "mnemonic", "otp", "pass", "pin", "psk", "pwd", "sig", "totp"]
    /// The members of a JSON Web Key that make it a private or a symmetric one (RFC 7518, section 6; RFC 8037).
    private static let privateKeyMembers: Set<String> = ["d", "dp", "dq", "k", "oth", "p", "q", "qi"]
    /// The last parts of names that say something about a secret, as in `token_type`.
    private static let harmlessParts: Set<String> = [
        "count", "endpoint", "endpoints", "expiration", "expires", "expiry", "iframe", "length", "lifetime", "method", "methods",
        "supported", "timeout", "type", "types",
    ]
    /// The ends of such names, folded, that have more than one part, or are written as one.
    private static let harmlessEnds = ["expirationdate", "expiresat", "expiresin", "tokentype", "typehint"]
    /// Such names as a whole, folded.
    private static let harmlessNames: Set<String> = ["tokenuri", "tokenurl"]
    /// A longer name, in bytes of UTF-8, is not looked at: it takes Unicode long to compare some texts.
    static let longestName = 256
    /// The length of the shortest of all names of secrets, in bytes of UTF-8.
    private let shortest: Int
    private let further: Set<String>
    private let kept: Set<String>

    /// Takes the caller's names.
    ///
    /// - Parameters:
    ///   - further: Names that are secret, too.
    ///   - kept: Names that are not secret, although a rule says so.
    init(_ further: Set<String> = [], keeping kept: Set<String> = []) {
        self.further = Set(further.map(Self.folded))
        self.kept = Set(kept.map(Self.folded))
        shortest = (Self.names.union(Self.lastParts).union(Self.words).union(self.further)).map(\.utf8.count).min() ?? 0
    }

    /// Whether the app says that the name is not secret.
    func keeps(_ name: some StringProtocol) -> Bool { name.utf8.count <= Self.longestName && kept.contains(Self.folded(name)) }

    /// Whether a member of an object of JSON that is a JSON Web Key (RFC 7517) is secret.
    func isPrivate(keyMember name: String) -> Bool { Self.privateKeyMembers.contains(name) && !keeps(name) }

    /// Whether a value of this name is secret.
    func contains(_ name: some StringProtocol) -> Bool {
        guard name.utf8.count <= Self.longestName else { return true }
        guard name.utf8.count >= shortest else { return false }
        let folded = Self.folded(name)
        guard !kept.contains(folded) else { return false }
        if Self.names.contains(folded) || further.contains(folded) { return true }
        guard !Self.harmlessNames.contains(folded) else { return false }
        let last = Self.lastPart(of: name)
        if Self.lastParts.contains(last) { return true }
        guard Self.hasWord(Array(folded.utf8)) else { return false }
        return !Self.harmlessParts.contains(last) && !Self.harmlessEnds.contains { folded.hasSuffix($0) }
    }

    /// Whether a parameter of a form or query is secret by its name, or by a part of it in brackets, as in `user[key]` and `user[key][]`.
    func isSecret(parameter name: String) -> Bool {
        if contains(name) { return true }
        let parts = name.drop { $0 != "[" }.split { "[]".contains($0) }
        return parts.contains { contains($0) }
    }

    /// Whether a name is nothing else than one of the words and names, and so cannot be the title of something.
    func isExact(_ name: some StringProtocol) -> Bool {
        guard name.utf8.count <= Self.longestName else { return false }
        let folded = Self.folded(name)
        guard !kept.contains(folded) else { return false }
        return Self.names.contains(folded) || further.contains(folded) || Self.words.contains(folded)
    }

    /// The words of a text that may be names: letters, digits, `-`, `_` and the other character, in at most ``longestName`` bytes.
    static func words(of text: String, joinedBy other: Character = "_") -> [Substring] {
        text.split { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "_" && $0 != other }.filter { $0.utf8.count <= longestName }
    }

    /// Whether one of the words stands in a folded name.
    private static func hasWord(_ name: [UInt8]) -> Bool {
        name.indices.contains { index in wordsByBeginning[name[index]]?.contains { name[index...].starts(with: $0) } ?? false }
    }

    /// The letters and digits of a name, in lower case.
    private static func folded(_ name: some StringProtocol) -> String { name.lowercased().filter { $0.isLetter || $0.isNumber } }

    /// The last part of a name, in lower case: parts end at other characters than letters, and before a capital letter.
    private static func lastPart(of name: some StringProtocol) -> String {
        var part: [Character] = []
        for character in name.reversed() {
            // A number at the end, as in `otp[0]` and `cvv2`, is not part of it.
            guard character.isLetter else {
                if part.isEmpty { continue }
                break
            }
            if character.isLowercase, part.last?.isUppercase == true { break }
            part.append(character)
        }
        return String(part.reversed()).lowercased()
    }
}
