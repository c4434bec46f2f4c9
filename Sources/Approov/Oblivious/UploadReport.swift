import HTTPClient
import Synchronization

/// Tells the caller how much of a request's body has gone out.
final class UploadReport: Sendable {
    private let report: @Sendable (TransferProgress) -> Void
    private let total: Int?
    private let completed = Atomic(0)

    /// A report to whoever the request's options name; nil when that is nobody.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - total: The bytes of its body; nil: not known.
    init?(of request: TransportRequest, total: Int?) {
        guard let report = request.options.onUpload else { return nil }
        self.report = report
        self.total = total
    }

    /// Says how many bytes have gone out: more than were said before, and never more than there are.
    func advance(to count: Int) {
        let count = min(count, total ?? count)
        if completed.max(count, ordering: .relaxed).oldValue < count { report(TransferProgress(completed: count, total: total)) }
    }

    /// Says that more bytes have gone out.
    func add(_ count: Int) { advance(to: completed.load(ordering: .relaxed) + count) }
}
