import Foundation

/// The values that were redacted in an exchange, which its bodies may repeat.
extension Set<String> {
    /// Adds a value and what it is without percent-encoding, unless it is too short to be looked for.
    ///
    /// The value `password` protects nothing, and the names of members would be lost with it.
    mutating func note(_ secret: some StringProtocol) {
        guard secret.utf8.count >= ByteScrubber.minimumLength, !SecretNames.isWord(secret) else { return }
        insert(String(secret))
        guard secret.utf8.contains(UInt8(ascii: "%")), let decoded = secret.removingPercentEncoding else { return }
        if decoded.utf8.count >= ByteScrubber.minimumLength { insert(decoded) }
    }

    /// Adds a value in UTF-8.
    mutating func note(_ secret: some Collection<UInt8>) { note(String(decoding: secret, as: UTF8.self)) }
}
