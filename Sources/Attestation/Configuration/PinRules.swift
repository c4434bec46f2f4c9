import ApproovBase

/// The rules for the pins in a configuration.
enum PinRules {
    /// Returns the element's text if it is a pin.
    static func validated(_ element: JSONValue) throws(AttestationError) -> String {
        let text = try element.string()
        guard PinText.digest(text) != nil else {
            throw AttestationError(
                .malformedMember, "is not a pin: write sha256/ and the padded base64 of 32 bytes (`approov pin -get HOST` prints it)")
        }
        return text
    }

    /// Refuses pins that look like a backup but are not.
    ///
    /// These are a key named twice, in either spelling, and the SHA-256 of zero bytes.
    static func requireDifferentKeys(_ pins: [String], member: String) throws(AttestationError) {
        guard distinct(pins) == pins.count else {
            throw AttestationError(
                .malformedConfiguration, "names a key twice: remove the second entry, or put a backup key's pin in its place",
                member: member)
        }
        guard pins.contains(where: { PinText.digest($0) == PinText.hashOfNothing }) else { return }
        throw AttestationError(
            .malformedConfiguration,
            "names the SHA-256 of no bytes, which is no key's pin (`approov pin -get HOST` prints those of a server)",
            member: member)
    }

    /// Returns the number of different keys among the pins.
    static func distinct(_ pins: [String]) -> Int {
        Set(pins.compactMap(PinText.digest)).count
    }
}
