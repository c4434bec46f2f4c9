import ApproovBase

/// The rules for the pins in a configuration.
enum PinRules {
    /// Returns the element's text if it is a pin.
    static func validated(_ element: JSONValue) throws(AttestationError) -> String {
        let text = try element.string()
        guard PinText.digest(text) != nil else {
            throw AttestationError(
                .malformedMember,
                "is not a pin; write sha256/ followed by the padded base64 of 32 bytes (`approov pin -get HOST` prints it)")
        }
        return text
    }

    /// Refuses pins that look like a backup but are not.
    ///
    /// These are a key named twice, in either spelling, and the SHA-256 of zero bytes.
    static func requireDifferentKeys(_ pins: [String], member: String) throws(AttestationError) {
        guard distinct(pins) == pins.count else {
            throw AttestationError(
                .malformedConfiguration, "names a key twice; remove the second entry, or replace it with a backup key's pin",
                member: member)
        }
        guard pins.contains(where: { PinText.digest($0) == PinText.hashOfNothing }) else { return }
        throw AttestationError(
            .malformedConfiguration,
            "contains the SHA-256 of zero bytes, which is not the pin of any key; `approov pin -get HOST` prints a server's pins",
            member: member)
    }

    /// Returns the number of different keys among the pins.
    static func distinct(_ pins: [String]) -> Int {
        Set(pins.compactMap(PinText.digest)).count
    }
}
