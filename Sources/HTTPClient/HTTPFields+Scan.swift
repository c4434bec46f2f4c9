package import HTTPTypes

extension HTTPFields {
    /// Whether the message has a field with this name.
    ///
    /// Searches the few fields of a message by index, because an iterator copies each whole field and counts its references.
    package func scan(for name: HTTPField.Name) -> Bool { indices.contains { self[$0].name == name } }

    /// The value of the field with this name; nil if there is none, or several.
    package func scanValue(of name: HTTPField.Name) -> String? {
        guard let first = indices.first(where: { self[$0].name == name }), indices.last(where: { self[$0].name == name }) == first else {
            return nil
        }
        return self[first].value
    }

    /// The values of all fields with this name, joined as the library does, mostly by a comma and a space; nil if there is none.
    ///
    /// The library's look-up is slow, even for a single field.
    package func scanJoinedValue(of name: HTTPField.Name) -> String? {
        scan(for: name) ? scanValue(of: name) ?? self[name] : nil
    }
}
