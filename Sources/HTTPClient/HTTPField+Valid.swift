package import HTTPTypes

extension HTTPField {
    /// Makes a field if its value is valid (RFC 9110, section 5.5), without whitespace around it; nil for any other value.
    ///
    /// The library's initializer replaces invalid characters, so a value that it left unchanged is valid, and is checked only once.
    package init?(_ name: Name, valid value: String) {
        self.init(name: name, value: value)
        guard self.value == value else { return nil }
    }
}
