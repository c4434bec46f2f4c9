/// The content of a request.
public enum RequestBody: Sendable {
    /// No content.
    case none
    /// Content that is in memory.
    case bytes([UInt8])
    /// A regular file, read while it is sent; its length is taken when the request starts and must not change.
    case file(path: String)
    /// Content that is produced while it is sent, and can be sent only once; `length` is in bytes, nil when unknown.
    case stream(length: Int?, RequestBodyStream)
}
