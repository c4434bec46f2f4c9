import ApproovBase
import ApproovTesting
import Testing

@Suite struct BatchWriterTests {
    private struct WriteError: Error {}

    /// Records the batches; the first waits for a gate.
    private struct Disk: Sendable {
        let gate = Gate()
        let batches = Shared<[[Int]]>([])

        func writer(maximumWaiting: Int = 1_000) -> BatchWriter<Int, Int> {
            BatchWriter(maximumWaiting: maximumWaiting) { inputs in
                batches.change { $0.append(inputs) }
                try await gate.wait()
                if inputs.contains(-1) { throw WriteError() }
                return inputs.map { $0 * 10 }
            }
        }
    }

    private let disk = Disk()

    /// Starts the write of 0, and returns when it is under way.
    private func hold(_ writer: BatchWriter<Int, Int>) async -> Task<Int, any Error> {
        let first = Task { try await writer.write(0) }
        #expect(await eventually { disk.gate.waiterCount == 1 })
        return first
    }

    @Test("Inputs that arrive during a write share the next one, and each gets its own output")
    func batches() async throws {
        let writer = disk.writer()
        let first = await hold(writer)
        let rest = (1...500).map { number in Task { try await writer.write(number) } }
        #expect(await eventually { await writer.waitingCount == 500 })
        disk.gate.open()
        #expect(try await first.value == 0)
        for (number, task) in zip(1...500, rest) { #expect(try await task.value == number * 10) }
        #expect(disk.batches.value.map(\.count) == [1, 500])
        #expect(try await writer.write(7) == 70)
        #expect(disk.batches.value.map(\.count) == [1, 500, 1])
    }

    @Test("A write that fails fails for its whole batch, and the next batch is written")
    func failure() async throws {
        let writer = disk.writer()
        let first = await hold(writer)
        let pair = [1, -1].map { number in Task { try await writer.write(number) } }
        #expect(await eventually { await writer.waitingCount == 2 })
        disk.gate.open()
        #expect(try await first.value == 0)
        for task in pair { await #expect(throws: WriteError.self) { try await task.value } }
        #expect(try await writer.write(2) == 20)
    }

    @Test("An input beyond the limit is refused at once")
    func full() async throws {
        let writer = disk.writer(maximumWaiting: 1)
        let first = await hold(writer)
        let second = Task { try await writer.write(1) }
        #expect(await eventually { await writer.waitingCount == 1 })
        await #expect(throws: BatchWriter<Int, Int>.Full.self) { try await writer.write(2) }
        disk.gate.open()
        #expect(try await first.value == 0)
        #expect(try await second.value == 10)
        #expect(disk.batches.value == [[0], [1]])
    }

    @Test("A cancelled input that still waits is not written; one whose write is under way is")
    func cancellation() async throws {
        let writer = disk.writer()
        let first = await hold(writer)
        let second = Task { try await writer.write(1) }
        let third = Task { try await writer.write(2) }
        #expect(await eventually { await writer.waitingCount == 2 })
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        disk.gate.open()
        #expect(try await first.value == 0)
        #expect(try await third.value == 20)
        #expect(disk.batches.value == [[0], [2]])
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await writer.write(3)
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(disk.batches.value == [[0], [2]])
    }
}
