package import HTTPTypes

extension HTTPFields {
    /// Whether there is a field of that name.
    ///
    /// Looks through the few fields of a message in place: `contains(_:)` and the subscripts make an index of all of them first.
    package func scan(for name: HTTPField.Name) -> Bool { contains { $0.name == name } }
}
