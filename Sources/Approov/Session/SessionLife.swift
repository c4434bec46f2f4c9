import HTTPClient
import Synchronization

/// Whether a session takes requests, and the transfers that its end ends.
final class SessionLife: Sendable {
    private enum Phase: UInt8, AtomicRepresentable {
        case valid
        /// Requests under way go on; no other begins.
        case finishing
        case cancelled
    }

    private let phase = Atomic(Phase.valid)
    /// The transfers of the session's requests.
    let transfers = TransferGroup()

    /// Checks whether a request may begin.
    ///
    /// - Throws: ``ApproovError`` with code `sessionInvalidated` after the session was invalidated.
    func checkBegin() throws {
        guard phase.load(ordering: .relaxed) == .valid else { throw Self.ended }
    }

    /// Checks whether a request that has begun may go on.
    ///
    /// - Throws: `FinalError` when the session's requests were cancelled.
    func checkGoOn() throws {
        guard phase.load(ordering: .relaxed) != .cancelled else { throw FinalError(cause: Self.ended) }
    }

    /// Lets no further request begin.
    func finish() { _ = phase.compareExchange(expected: .valid, desired: .finishing, ordering: .relaxed) }

    /// Lets no further request begin, and ends those under way.
    ///
    /// - Parameter transport: The transport of the session.
    func cancel(on transport: any HTTPTransport) {
        phase.store(.cancelled, ordering: .relaxed)
        transfers.cancel(with: Self.ended)
        (transport as? CurlTransport)?.cancel(transfers)
    }

    private static var ended: ApproovError {
        ApproovError(.sessionInvalidated, "the session was invalidated, so it sends nothing: make a new session")
    }
}
