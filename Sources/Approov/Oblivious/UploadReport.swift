import HTTPClient
import Synchronization

/// Reports to the caller how much of a request's body has been sent.
final class UploadReport: Sendable {
    private let report: @Sendable (TransferProgress) -> Void
    private let total: Int?
    private let completed = Atomic(0)

    /// Creates a report to the request's `onUpload` observer; nil if it has none.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - total: The number of bytes in its body; nil if not known.
    init?(of request: TransportRequest, total: Int?) {
        guard let report = request.options.onUpload else { return nil }
        self.report = report
        self.total = total
    }

    /// Reports the number of bytes sent, if it is greater than before; never reports more than the total.
    func advance(to count: Int) {
        let count = min(count, total ?? count)
        if completed.max(count, ordering: .relaxed).oldValue < count { report(TransferProgress(completed: count, total: total)) }
    }

    /// Reports that more bytes have been sent.
    func add(_ count: Int) { advance(to: completed.load(ordering: .relaxed) + count) }
}
