internal import ApproovBase

/// The rules for secure strings: secrets that the authority sends to apps after genuine evidence.
package enum SecureStringRules {
    /// The most predefined strings of an account.
    package static let maximumCount = 16
    /// The most bytes of a value.
    package static let maximumValueBytes = 4_096
    /// The rule for keys, worded to fit into a sentence.
    package static let keyRule = "1 to 64 visible ASCII characters"
    /// The rule for values, worded to fit into a sentence.
    package static let valueRule = "1 to \(maximumValueBytes) bytes of UTF-8 without CR, LF and NUL"

    /// Whether a secure string may have this key.
    ///
    /// A key also stands for its value in headers and queries, so it has no character that they would change.
    package static func isKey(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Whether a secure string may have this value.
    ///
    /// It may become part of a header field, which a line end would split.
    package static func isValue(_ text: String) -> Bool {
        (1...maximumValueBytes).contains(text.utf8.count) && text.utf8.allSatisfy { $0 != 0x0a && $0 != 0x0d && $0 != 0 }
    }

    /// Reads an object of secure strings.
    ///
    /// - Parameter json: A JSON object whose members have the strings' keys.
    /// - Returns: The values by key.
    /// - Throws: ``AttestationError`` with code `malformedMember`, which names the key, when there are too many or one breaks a rule.
    static func strings(_ json: JSONValue) throws(AttestationError) -> [String: String] {
        let members = try json.object()
        guard members.count <= maximumCount else {
            throw AttestationError(.malformedMember, "must have at most \(maximumCount) members")
        }
        var strings: [String: String] = [:]
        for (key, value) in members {
            guard isKey(key), case .string(let text) = value, isValue(text) else {
                throw AttestationError(
                    .malformedMember, "the key must be \(keyRule), and the value \(valueRule)", member: LoggableText.name(key))
            }
            strings[key] = text
        }
        return strings
    }
}
