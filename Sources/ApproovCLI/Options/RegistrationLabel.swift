/// The rule for the labels of registrations, given with `-label` or in an imported file.
enum RegistrationLabel {
    /// The most characters and bytes of `-label`.
    static let maximumCharacters = 256
    static let maximumBytes = 1_024

    /// Whether the label is one line of text.
    static func isPlain(_ label: String) -> Bool { label.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control } }
}
