/// What bounds a recording.
///
/// A response beyond a limit fails with `TransportError` with code `recordingFailed`: no exchange is missing without an error.
public struct RecordingLimits: Sendable, Hashable {
    /// The most bytes of one response's body; 16 MiB by default, and never more than 64 MiB.
    public var maximumBodyBytes = 16 << 20
    /// The most bytes that one ``RecordingTransport`` writes or holds; 64 MiB by default.
    ///
    /// Of what it wrote, the redacted bodies and the heads count.
    public var maximumTotalBytes = 64 << 20
    /// The most exchanges in one folder; 9,999 by default, and never more.
    public var maximumExchanges = 9_999

    /// Makes the default limits.
    public init() {}
}
