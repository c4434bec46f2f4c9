import ApproovBase
import Foundation

/// A value that was redacted, and that bodies may repeat.
///
/// It is compared by its bytes: of two spellings that are one text for Unicode, such as `é` with and without a combining accent, a body may
/// have either.
struct NotedSecret: Hashable, Sendable {
    /// The value in UTF-8.
    let bytes: [UInt8]

    init(_ text: some StringProtocol) { bytes = Array(text.utf8) }

    /// The value as a text.
    var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Where a noted value was, and so how likely it is a word, a date or a number that bodies have in other places, too.
enum NotedKind {
    /// A credential of a head, such as the value of a secret query parameter: not a JSON object or array, with which whole answers would be
    /// lost.
    case credential
    /// A password of a URL or of Basic credentials: not a short word either, which may be the name of a member.
    case password
    /// The value of a cookie: not a short word, and not a JSON object or array.
    case cookie
    /// The value of a secret name in a body: not a short word, such as `passport` as a `credential`, with which names of members
    /// would be lost.
    case body
    /// A value of a head that may be a secret: only with both a letter and a digit, and not a URL, a date with a time, or a JSON object or
    /// array.
    case other
}

/// The values that were redacted in an exchange, which its bodies may repeat.
extension Set<NotedSecret> {
    /// A word of this length is more likely a secret than a name.
    private static var wordLength: Int { 16 }
    /// It takes Unicode long to compare longer texts with characters beyond ASCII.
    private static var longestBeyondASCII: Int { 512 }

    /// Adds a value and what it is without percent-encoding, unless it is too short or too common to be looked for.
    mutating func note(_ secret: some StringProtocol, as kind: NotedKind) {
        if Self.isRare(secret, kind) { insert(NotedSecret(secret)) }
        guard secret.utf8.contains(UInt8(ascii: "%")), let decoded = secret.removingPercentEncoding else { return }
        if Self.isRare(decoded, kind) { insert(NotedSecret(decoded)) }
    }

    /// Adds a value of a body in UTF-8.
    mutating func note(_ secret: some Collection<UInt8>) { note(String(decoding: secret, as: UTF8.self), as: .body) }

    /// Adds a value of a body that may be part of a document, unless to remove it could take a brace or a quotation mark away.
    mutating func noteUnstructured(_ secret: some Collection<UInt8>) {
        if !Texts.hasStructure(secret) { note(secret) }
    }

    private static func isShortWord(_ value: some StringProtocol) -> Bool {
        value.utf8.count < wordLength && value.allSatisfy { $0.isLetter || $0 == "-" || $0 == "_" }
    }

    /// Whether a value is a date with a time, such as `2024-05-01T00:00:00Z` (RFC 3339).
    private static func isTime(_ value: some StringProtocol) -> Bool {
        value.prefix { $0.isNumber || $0 == "-" }.count == 10 && value.dropFirst(10).first == "T"
            && value.dropFirst(11).allSatisfy { $0.isNumber || "+-:.Z".contains($0) }
    }

    /// Whether a value is a JSON object or array, which a body may have as its content.
    private static func isDocument(_ value: some StringProtocol) -> Bool {
        guard let first = value.utf8.first(where: { !Texts.isBlank($0) }), "{[".utf8.contains(first) else { return false }
        let bytes = Array(value.utf8)
        return (try? JSONValue(parsing: bytes, limit: bytes.count)) != nil
    }

    /// Whether a body has a value hardly by chance.
    private static func isRare(_ secret: some StringProtocol, _ kind: NotedKind) -> Bool {
        guard secret.utf8.count >= ByteScrubber.minimumLength, !secret.utf8.allSatisfy(Texts.isBlank),
            secret.utf8.count <= longestBeyondASCII || secret.utf8.allSatisfy({ $0 < 0x80 })
        else { return false }
        switch kind {
        case .credential: return !isDocument(secret)
        case .password: return !isShortWord(secret) && !isDocument(secret)
        case .body: return !isShortWord(secret)
        case .cookie: return !isShortWord(secret) && !isDocument(secret)
        case .other:
            return secret.contains(where: \.isLetter) && secret.contains(where: \.isNumber) && !secret.contains("://")
                && !isTime(secret) && !isDocument(secret)
        }
    }
}
