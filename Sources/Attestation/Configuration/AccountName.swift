/// The rule for the name of an account.
package enum AccountName {
    /// The rule, worded to fit into a sentence.
    package static let rule = "1 to 128 visible ASCII characters"

    /// Whether an account may have this name.
    package static func isValid(_ name: String) -> Bool {
        (1...128).contains(name.utf8.count) && name.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    static var refusal: AttestationError { AttestationError(.malformedMember, "must be \(rule)", member: "account") }
}
