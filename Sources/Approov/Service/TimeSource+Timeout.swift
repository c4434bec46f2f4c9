import ApproovBase
import Attestation

extension TimeSource {
    /// Returns the value of `work`, or nil if it takes too long.
    ///
    /// - Parameters:
    ///   - timeout: The longest time to wait.
    ///   - work: The work. It is cancelled when the time is over and must then return soon, because this call waits for it to end.
    /// - Returns: The value; nil if the work took longer or the caller was cancelled.
    func withTimeout<Value: Sendable>(_ timeout: Duration, _ work: @escaping @Sendable () async -> Value) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await work() }
            group.addTask {
                try? await sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
