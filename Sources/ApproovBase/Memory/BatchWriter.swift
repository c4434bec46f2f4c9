/// Writes inputs in batches: while one batch is being written, the next ones are collected.
///
/// Under load many inputs share one write; a single input does not wait for others.
package actor BatchWriter<Input: Sendable, Output: Sendable> {
    /// As many inputs wait as the writer allows.
    package struct Full: Error {}

    private struct Waiter {
        let number: UInt64
        let input: Input
        let continuation: CheckedContinuation<Output, any Error>
    }

    private let maximumWaiting: Int
    private let writeBatch: @Sendable ([Input]) async throws -> [Output]
    private var waiting: [Waiter] = []
    private var isWriting = false
    private var lastNumber: UInt64 = 0

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - maximumWaiting: The most inputs that wait; more mean that writing is too slow.
    ///   - writeBatch: Writes one or more inputs as a whole or not at all, and returns an output for each, in the same order. It is never
    ///     called twice at once.
    package init(maximumWaiting: Int, writeBatch: @escaping @Sendable ([Input]) async throws -> [Output]) {
        self.maximumWaiting = maximumWaiting
        self.writeBatch = writeBatch
    }

    /// Writes an input; when this returns, its batch is written.
    ///
    /// - Parameter input: The input.
    /// - Returns: Its output.
    /// - Throws: `Full`; `CancellationError` when the task is cancelled before the writing of its batch begins, and the input is not written
    ///   then; the error of its batch.
    package func write(_ input: Input) async throws -> Output {
        try Task.checkCancellation()
        guard waiting.count < maximumWaiting else { throw Full() }
        lastNumber += 1
        let number = lastNumber
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiting.append(Waiter(number: number, input: input, continuation: continuation))
                if !isWriting {
                    isWriting = true
                    Task { await self.writeWaiting() }
                }
            }
        } onCancel: {
            // Runs on this actor, so not before the input waits.
            Task { await self.drop(number) }
        }
    }

    /// Whether a batch is being written.
    package var isBusy: Bool { isWriting }

    /// The number of inputs that wait for the next batch.
    package var waitingCount: Int { waiting.count }

    private func drop(_ number: UInt64) {
        guard let place = waiting.firstIndex(where: { $0.number == number }) else { return }
        waiting.remove(at: place).continuation.resume(throwing: CancellationError())
    }

    private func writeWaiting() async {
        while !waiting.isEmpty {
            let batch = waiting
            waiting = []
            do {
                let outputs = try await writeBatch(batch.map(\.input))
                precondition(outputs.count == batch.count, "a batch has one output for each input")
                for (waiter, output) in zip(batch, outputs) { waiter.continuation.resume(returning: output) }
            } catch {
                for waiter in batch { waiter.continuation.resume(throwing: error) }
            }
        }
        isWriting = false
    }
}
