extension Task {
    /// Waits until this task ends or the caller's task is cancelled; the cancellation does not reach this task.
    package func waitForEnd() async {
        let (ended, end) = AsyncStream.makeStream(of: Never.self)
        Task<Void, Never> {
            _ = await result
            end.finish()
        }
        for await _ in ended {}
    }

    /// The task's value, for a caller that may stop waiting while other callers still wait.
    ///
    /// Throws the task's error, or `CancellationError` when the caller's task is cancelled.
    package var valueUnlessCancelled: Success {
        get async throws {
            await waitForEnd()
            try Task<Never, Never>.checkCancellation()
            return try await value
        }
    }
}
