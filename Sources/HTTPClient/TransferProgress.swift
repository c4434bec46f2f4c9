/// How much of a body has been transferred.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes transferred so far.
    public let completed: Int
    /// The total number of bytes, when known.
    public let total: Int?

    /// Makes a progress value.
    ///
    /// - Parameters:
    ///   - completed: Bytes transferred so far.
    ///   - total: The total number of bytes, when known.
    public init(completed: Int, total: Int?) {
        self.completed = completed
        self.total = total
    }
}
