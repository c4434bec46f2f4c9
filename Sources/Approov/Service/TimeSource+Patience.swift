import ApproovBase
import Attestation

extension TimeSource {
    /// What `work` returns, if it does in time.
    ///
    /// - Parameters:
    ///   - patience: How long to wait.
    ///   - work: Must return soon after its task is cancelled, which it is when the time is over.
    /// - Returns: nil when it took longer, or the caller was cancelled.
    func value<Value: Sendable>(within patience: Duration, of work: @escaping @Sendable () async -> Value) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await work() }
            group.addTask {
                try? await sleep(for: patience)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
