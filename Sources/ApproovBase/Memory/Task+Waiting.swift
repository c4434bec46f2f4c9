extension Task {
    /// Waits until this task ends or the caller's task is cancelled, which does not cancel this one.
    package func waitForEnd() async {
        let (ended, end) = AsyncStream.makeStream(of: Never.self)
        Task<Void, Never> {
            _ = await result
            end.finish()
        }
        for await _ in ended {}
    }

    /// The task's value, for a caller that may stop waiting: the work belongs to all who wait for it.
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
