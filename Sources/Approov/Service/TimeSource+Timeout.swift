import ApproovBase
import Attestation

extension TimeSource {
    /// Returns the value of `work`, or nil if it takes too long.
    ///
    /// - Parameters:
    ///   - timeout: The longest time to wait.
    ///   - work: The work. It is cancelled when the time is over and must then return soon, because this call waits for it to end.
    /// - Returns: The value; nil if the work took longer, or the caller was cancelled.
    @discardableResult
    package func withTimeout<Value: Sendable>(_ timeout: Duration, _ work: @escaping @Sendable () async -> Value) async -> Value? {
        await withTimeout(timeout, in: nil, work)
    }

    /// Returns the value of `work`, or nil if it takes too long or a session is cancelled.
    ///
    /// - Parameters:
    ///   - timeout: The longest time to wait.
    ///   - life: The life of a session, whose cancellation also ends the wait; nil for none.
    ///   - work: The work. It is cancelled when the time is over and must then return soon, because this call waits for it to end.
    /// - Returns: The value; nil if the work took longer, or the caller or the session was cancelled.
    @discardableResult
    func withTimeout<Value: Sendable>(
        _ timeout: Duration, in life: SessionLife?, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await work() }
            group.addTask {
                try? await sleep(for: timeout)
                return nil
            }
            if let life {
                group.addTask {
                    await life.waitForCancellation()
                    return nil
                }
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
