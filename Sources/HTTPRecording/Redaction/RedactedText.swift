import Crypto
import Foundation

/// The text in the place of a secret.
enum RedactedText {
    static let plain = "REDACTED"
    private static let prefix = "REDACTED-"
    private static let digits = 6

    /// The text that a replay can compute from the value; a redacted value stays as it is.
    static func hashed(_ value: some StringProtocol) -> String {
        isRedacted(value) ? String(value) : prefix + hexadecimal(SHA256.hash(data: Data(value.utf8)), count: digits)
    }

    /// The text that tells values of one run apart and reveals nothing about them.
    static func keyed(_ value: some StringProtocol, _ key: SymmetricKey) -> String {
        isRedacted(value)
            ? String(value)
            : prefix + hexadecimal(HMAC<SHA256>.authenticationCode(for: Data(value.utf8), using: key), count: digits)
    }

    /// The text for one of several names that must differ; it reveals nothing about the name.
    static func numbered(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return prefix + String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    /// The greatest number that a text has in what ``numbered(_:)`` returns, or what looks like that; 0 when there is none.
    static func lastNumber(in text: [UInt8]) -> Int {
        let beginning = Array(prefix.utf8)
        var last = 0
        var rest = text[...]
        while let index = rest.firstIndex(of: beginning[0]) {
            rest = rest[index...]
            guard rest.starts(with: beginning) else {
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(beginning.count)
            last = max(last, Int(String(decoding: rest.prefix(digits), as: UTF8.self), radix: 16) ?? 0)
        }
        return last
    }

    /// Whether the recorded value is the live one, kept or redacted.
    static func covers(_ recorded: some StringProtocol, _ live: some StringProtocol) -> Bool {
        recorded == plain || recorded == live || (isRedacted(recorded) && recorded == hashed(live))
    }

    static func isRedacted(_ value: some StringProtocol) -> Bool {
        guard value != plain else { return true }
        guard value.hasPrefix(prefix) else { return false }
        let rest = value.utf8.dropFirst(prefix.utf8.count)
        return rest.count == digits && rest.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>, count: Int) -> String {
        var text = ""
        for byte in bytes.prefix((count + 1) / 2) {
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return String(text.prefix(count))
    }
}
