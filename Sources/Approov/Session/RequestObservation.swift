import HTTPClient

/// Surrounds a request, its redirects and its retries, for example to set a task-local value.
///
/// A closure of the caller around the whole call would end away from the caller's actor, and with it the last check for a wipe.
package protocol RequestScope: Sendable {
    /// Does the work that it is given, and returns its value.
    func run<Value>(_ work: () async throws -> Value) async throws -> Value
}

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
    /// Whether the request belongs to a task that was made while the session was valid; it may begin until the session is cancelled.
    var isAdmitted = false
    /// Whether a wipe cancels each wait of the request by itself, so that the whole request needs no separate task.
    var cancelsWaits = false
    /// The call, for those who watch it; nil if no one does.
    var call: ObservedCall?
    /// Notes how the request is sent, for a cache; nil without one.
    var probe: RequestProbe?
    /// The caller's code that surrounds the request's attempts, but not the reading of a body; nil without any.
    var scope: (any RequestScope)?

    /// What cancels the transfers of the request; nil if its task does.
    var cancellation: (any TransferCancellation)? { cancelsWaits ? flight : nil }

    /// Waits for anything but a transfer, so that a wipe ends the wait.
    ///
    /// - Parameter work: What the request waits for.
    /// - Returns: The work's value.
    /// - Throws: `CancellationError` when the request was wiped; the work's errors.
    func waiting<Value: Sendable>(for work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        guard cancelsWaits, let flight else { return try await work() }
        return try await flight.run(work)
    }
}
