import ApproovBase
import ApproovTesting
import Testing

@Suite("Waiting for a task")
struct TaskWaitingTests {
    @Test("A caller gets the task's value or error")
    func value() async throws {
        #expect(try await Task { 7 }.valueUnlessCancelled == 7)
        await #expect(throws: CancellationError.self) { try await Task { throw CancellationError() }.valueUnlessCancelled }
        await Task<Void, any Error> { throw CancellationError() }.waitForEnd()
    }

    @Test("A cancelled caller stops waiting, and the task goes on for the others")
    func cancelled() async throws {
        let gate = Gate()
        let work = Task {
            try await gate.wait()
            return 7
        }
        let other = Task { try await work.valueUnlessCancelled }
        let caller = Task { try await work.valueUnlessCancelled }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        #expect(!work.isCancelled)
        gate.open()
        #expect(try await other.value == 7)
    }
}
