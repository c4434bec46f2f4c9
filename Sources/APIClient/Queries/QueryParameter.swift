/// A value with its name.
///
/// Two parameters are equal when their values are equal and their names are the same byte by byte.
public struct QueryParameter: Sendable, Hashable {
    /// The name, byte by byte, before it is percent-encoded: UTF-8, or what a server with another encoding expects.
    public var nameBytes: [UInt8]
    /// The value.
    public var value: QueryValue

    /// The name; bytes that are not UTF-8 are read as U+FFFD.
    public var name: String {
        get { String(decoding: nameBytes, as: UTF8.self) }
        set { nameBytes = Array(newValue.utf8) }
    }

    /// Makes a parameter.
    ///
    /// - Parameters:
    ///   - name: The name, as UTF-8.
    ///   - value: The value.
    public init(_ name: String, _ value: QueryValue) { self.init(nameBytes: Array(name.utf8), value) }

    /// Makes a parameter for a server that does not read UTF-8.
    ///
    /// - Parameters:
    ///   - nameBytes: The name, byte by byte, before it is percent-encoded. JSON takes only UTF-8.
    ///   - value: The value; ``QueryValue/bytes(_:)`` for text that is not UTF-8.
    public init(nameBytes: [UInt8], _ value: QueryValue) {
        self.nameBytes = nameBytes
        self.value = value
    }
}
