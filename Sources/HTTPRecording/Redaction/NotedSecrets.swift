import Foundation

/// The values that were redacted in an exchange, which its bodies may repeat.
extension Set<String> {
    /// Adds a value and what it is without percent-encoding, unless it is too short to be looked for.
    ///
    /// - Parameters:
    ///   - secret: The value.
    ///   - isFromHead: Whether it comes from a URL or a header field. In a body, a value of letters, `-` and `_` alone is left out: it is
    ///     often a word, such as `passport` below `credentialType`, with which names of members would be lost.
    mutating func note(_ secret: some StringProtocol, isFromHead: Bool = false) {
        guard secret.utf8.count >= ByteScrubber.minimumLength else { return }
        guard isFromHead || secret.contains(where: { !$0.isLetter && $0 != "-" && $0 != "_" }) else { return }
        insert(String(secret))
        guard secret.utf8.contains(UInt8(ascii: "%")), let decoded = secret.removingPercentEncoding else { return }
        if decoded.utf8.count >= ByteScrubber.minimumLength { insert(decoded) }
    }

    /// Adds a value in UTF-8.
    mutating func note(_ secret: some Collection<UInt8>) { note(String(decoding: secret, as: UTF8.self)) }
}
