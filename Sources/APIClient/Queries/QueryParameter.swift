/// A value with its name.
public struct QueryParameter: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value.
    public var value: QueryValue

    /// Makes a parameter.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    public init(_ name: String, _ value: QueryValue) {
        self.name = name
        self.value = value
    }
}
