import Testing

@testable import HTTPClient

@Suite struct CurlUploadStateTests {
    private typealias State = CurlUploadState<String>
    private struct NoMore: Error {}

    private func read(_ state: inout State, _ count: Int = 1_024) -> (read: CurlUpload.Read, resumed: String?) {
        var buffer = [UInt8](repeating: 0, count: count)
        return buffer.withUnsafeMutableBytes { state.read(into: $0) }
    }

    /// A state after libcurl has asked for the content.
    private func flowing(length: Int? = nil) -> State {
        var state = State(length: length)
        _ = read(&state)
        return state
    }

    @Test("A body is not produced before libcurl asks for it")
    func unwanted() {
        var state = State(length: nil)
        #expect(state.makeRoom(for: "producer") == .wait)
        #expect(!state.isPaused && state.isUnfinished)
        let (first, producer) = read(&state)
        #expect(first == .pause && producer == "producer")
        #expect(state.isPaused)
        #expect(state.makeRoom(for: "producer") == .free)
    }

    @Test("The first part unpauses libcurl, which pauses again when it has taken all bytes")
    func pauses() {
        var state = flowing()
        let isFirstUnpaused = state.add([1, 2])
        let isSecondUnpaused = state.add([3])
        #expect(isFirstUnpaused && !isSecondUnpaused && !state.isPaused)
        #expect(read(&state).read == .bytes(3))
        #expect(state.sent == 3 && !state.isPaused)
        #expect(read(&state).read == .pause)
        #expect(state.isPaused)
    }

    @Test("The producer waits when the buffer is full, and continues when half of it has been sent")
    func room() {
        var state = flowing()
        _ = state.add([UInt8](repeating: 0, count: State.highWater))
        #expect(state.makeRoom(for: "producer") == .wait)
        #expect(read(&state, State.highWater / 2 - 1).resumed == nil)
        #expect(read(&state, 1).resumed == "producer")
        #expect(read(&state, 1).resumed == nil)
        #expect(state.makeRoom(for: "producer") == .free)
    }

    @Test("The end follows the last byte, with and without a declared length", arguments: [nil, 2])
    func complete(length: Int?) {
        var state = flowing(length: length)
        _ = state.add([1, 2])
        let unpauses = state.producerEnded(nil)
        #expect(!unpauses && !state.isUnfinished)
        #expect(read(&state).read == .bytes(2))
        #expect(read(&state).read == .bytes(0))
        #expect(state.failure == nil && !state.isPaused)
    }

    @Test("The end unpauses libcurl")
    func completeWhilePaused() {
        var state = flowing()
        let unpauses = state.producerEnded(nil)
        #expect(unpauses && !state.isPaused)
        #expect(read(&state).read == .bytes(0))
    }

    @Test("A body shorter than declared fails at its end")
    func short() {
        var state = flowing(length: 3)
        _ = state.add([1, 2])
        _ = state.producerEnded(nil)
        #expect(read(&state).read == .bytes(2))
        #expect(read(&state).read == .fail)
        #expect((state.failure as? TransportError)?.code == .requestBodyFailed)
    }

    @Test("A body longer than declared fails at the first extra byte, and its producer ends")
    func long() {
        var state = flowing(length: 3)
        _ = state.add([1, 2])
        _ = read(&state, 1)
        let unpauses = state.add([3, 4])
        #expect(!unpauses)
        #expect(read(&state).read == .fail)
        #expect((state.failure as? TransportError)?.code == .requestBodyFailed)
        #expect(state.makeRoom(for: "producer") == .ended)
        let later = [state.add([5]), state.producerEnded(nil)]
        #expect(later == [false, false])
    }

    @Test("A body that cannot be produced unpauses libcurl and fails")
    func failed() {
        var state = flowing()
        let unpauses = state.producerEnded(NoMore())
        #expect(unpauses)
        #expect(read(&state).read == .fail)
        #expect(state.failure is NoMore)
        #expect(!state.isUnfinished)
    }

    @Test("When the transfer ends early, the body pauses instead of looking complete, and its producer ends")
    func ended() {
        var state = flowing()
        _ = state.add([UInt8](repeating: 0, count: State.highWater))
        _ = state.makeRoom(for: "producer")
        #expect(state.end() == "producer")
        #expect(state.end() == nil)
        #expect(read(&state).read == .pause)
        #expect(!state.isPaused && !state.isUnfinished)
        #expect(state.makeRoom(for: "producer") == .ended)
        let later = [state.add([1]), state.producerEnded(NoMore())]
        #expect(later == [false, false])
        #expect(state.failure == nil)
    }

    @Test("The end of a transfer does not hide why its body failed")
    func endedAfterFailure() {
        var state = flowing()
        _ = state.producerEnded(NoMore())
        _ = state.end()
        #expect(state.failure is NoMore)
    }

    @Test("The state counts the bytes sent from memory or a file, and a rewind resets the count")
    func rewinds() {
        var state = State(length: 10)
        state.took(4)
        state.took(6)
        #expect(state.sent == 10)
        state.rewind()
        #expect(state.sent == 0)
        state.fail(NoMore())
        #expect(state.failure is NoMore)
    }
}
