package import HTTPTypes

extension HTTPFields {
    /// Whether the message has a field with this name.
    ///
    /// Searches the few fields of a message in place, while `contains(_:)` and the subscripts first build an index of all of them.
    package func scan(for name: HTTPField.Name) -> Bool { contains { $0.name == name } }

    /// The value of the field with this name; nil if there is none, or several.
    package func scanValue(of name: HTTPField.Name) -> String? {
        guard let first = firstIndex(where: { $0.name == name }), lastIndex(where: { $0.name == name }) == first else { return nil }
        return self[first].value
    }
}
