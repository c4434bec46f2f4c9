/// Decides by its name whether a value is secret.
struct SecretNames: Sendable {
    /// The names, in lower case, of the header fields that are redacted whatever else the app keeps.
    static let headers: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "signature", "signature-input",
    ]
    private static let words = [
        "apikey", "accesskey", "assertion", "authorization", "cookie", "credential", "passphrase", "passwd", "password", "privatekey",
        "secret", "securestring", "session", "signature", "token", "verifier",
    ]
    private static let names: Set<String> = [
        "auth", "cvc", "cvv", "devicecode", "jwt", "key", "otp", "pass", "pin", "pwd", "sig", "sid", "usercode",
    ]
    private let further: Set<String>

    init(_ further: Set<String> = []) { self.further = Set(further.map(Self.folded)) }

    func contains(_ name: some StringProtocol) -> Bool {
        let name = Self.folded(name)
        return Self.names.contains(name) || further.contains(name) || Self.words.contains { name.contains($0) }
    }

    /// The words of a text that may be names: letters, digits, `-`, `_` and the other character.
    static func words(of text: String, joinedBy other: Character = "_") -> [Substring] {
        text.split { !$0.isLetter && !$0.isNumber && $0 != "-" && $0 != "_" && $0 != other }
    }

    private static func folded(_ name: some StringProtocol) -> String {
        name.lowercased().filter { $0 != "-" && $0 != "_" }
    }
}
