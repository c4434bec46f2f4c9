import ApproovBase

extension Array where Element == any CodingKey {
    /// Where in a value something is, for messages: names and indexes, separated by dots; a key that is content is written as `*`.
    ///
    /// At most 20 keys are shown.
    var place: String {
        let shown = prefix(20).map { $0.shown }.joined(separator: ".")
        return count > 20 ? shown + "…" : shown
    }
}

extension CodingKey {
    /// The key if the program itself has it, else `*`.
    ///
    /// The keys of a dictionary are content, and may be secrets or the data of a person.
    fileprivate var shown: String {
        // Foundation calls the third element of an array so. A number that is a dictionary's key is written as the number alone.
        if let intValue, stringValue == "Index \(intValue)" { return stringValue }
        // A declared name is a case without a value. Foundation's own keys are cases with values, or structures.
        let mirror = Mirror(reflecting: self)
        return mirror.displayStyle == .enum && mirror.children.isEmpty ? LoggableText.name(stringValue) : "*"
    }
}
