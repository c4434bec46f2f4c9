import HTTPClient

/// The limits and observers of one transfer.
struct RequestObservation: Sendable {
    /// The maximum size of the response's body in bytes; nil for no limit.
    var bodyLimit: Int?
    var onUpload: (@Sendable (TransferProgress) -> Void)?
    var onDownload: (@Sendable (TransferProgress) -> Void)?
    /// Suspends and resumes the transfers; nil if they run through.
    var control: TransferControl?
    /// Whether the caller reads the response part by part, so that it may have any size.
    var isStreamed = false
    /// Whether the request asks for the rest of a download; status 416 may then say that the download is complete.
    var isResuming = false
    /// The request that may be wiped; nil in a session that tracks none.
    var flight: RequestFlight?
    /// The call, for those who watch it; nil if no one does.
    var call: ObservedCall?
    /// Notes how the request is sent, for a cache; nil without one.
    var probe: RequestProbe?
}
