import ApproovTesting
import Dispatch
import HTTPServing
import NIOEmbedded
import Testing

@Suite(.timeLimit(.minutes(5))) struct WriteBackpressureTests {
    @Test("A writer continues until it has written 128 KiB, then waits until the event loop has caught up")
    func waits() async throws {
        let loop = NIOAsyncTestingEventLoop()
        let gate = DispatchSemaphore(value: 0)
        loop.execute { gate.wait() }
        var backpressure = WriteBackpressure(loop)
        try await backpressure.wrote(128 * 1024 - 1)
        let hasGoneOn = Shared(false)
        // The writer is waiting when `Task.immediate` returns.
        let writer = Task.immediate { [backpressure] in
            var backpressure = backpressure
            try await backpressure.wrote(1)
            hasGoneOn.value = true
        }
        #expect(!hasGoneOn.value)
        gate.signal()
        try await writer.value
        await loop.shutdownGracefully()
    }
}
