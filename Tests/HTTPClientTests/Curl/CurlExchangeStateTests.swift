import Testing

@testable import HTTPClient

@Suite struct CurlExchangeStateTests {
    private typealias State = CurlExchangeState<String, String, String>
    private struct Reset: Error {}

    private func append(_ bytes: [UInt8], to state: inout State) -> State.Arrival {
        bytes.withUnsafeBufferPointer { state.append($0) }
    }

    private func part(_ read: State.Read) -> (bytes: [UInt8], unpause: Bool)? {
        if case .part(let bytes, let unpause) = read { (bytes, unpause) } else { nil }
    }

    private func end(_ read: State.Read) -> String? {
        switch read {
        case .part: nil
        case .end(.success): "success"
        case .end(.failure): "failure"
        case .wait: "none"
        }
    }

    @Test("A head goes to the waiter once")
    func waitingForHead() throws {
        var state = State()
        #expect(state.takeHead(or: "waiter") == nil)
        #expect(state.deliver(.success("head")) == "waiter")
        #expect(state.deliver(.success("other")) == nil)
        #expect(state.takeHead() == nil)
    }

    @Test("A head that comes first is kept until it is taken, and only the first one counts")
    func earlyHead() throws {
        var state = State()
        #expect(state.takeHead() == nil)
        #expect(state.deliver(.success("head")) == nil)
        #expect(state.finish(.failure(Reset()), head: .failure(Reset()), trailers: []).head == nil)
        #expect(try state.takeHead(or: "waiter")?.get() == "head")
        #expect(state.takeHead() == nil)
    }

    @Test("A failure comes instead of the head")
    func failureBeforeHead() throws {
        var state = State()
        _ = state.finish(.failure(Reset()), head: .failure(Reset()), trailers: [])
        #expect(throws: Reset.self) { try state.takeHead()?.get() }
    }

    @Test("Parts are read in order")
    func parts() {
        var state = State()
        let parts = (1...3).map { [UInt8](repeating: $0, count: 2_000) }
        for part in parts { #expect(append(part, to: &state).name == "kept") }
        for expected in parts { #expect(part(state.read())?.bytes == expected) }
        #expect(end(state.read()) == "none")
    }

    @Test("Small parts become few larger ones, none of more than 16 KiB, and no byte is lost or counted twice")
    func smallParts() {
        var state = State()
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
        for byte in bytes { #expect(append([byte], to: &state).name == "kept") }
        #expect(append([UInt8](repeating: 0, count: 16_384), to: &state).name == "kept")
        var read: [[UInt8]] = []
        while let next = part(state.read()) { read.append(next.bytes) }
        #expect(Array(read.joined()) == bytes + [UInt8](repeating: 0, count: 16_384))
        #expect(read.count < 110 && read.allSatisfy { $0.count <= 16_384 })
        // All bytes were taken out, so that as many fit again.
        #expect(append([UInt8](repeating: 0, count: State.highWater), to: &state).name == "kept")
        #expect(append([1], to: &state).name == "refused")
    }

    @Test("A part goes to the waiting reader, and the next part is kept")
    func waitingReader() {
        var state = State()
        #expect(end(state.read(or: "reader").read) == "none")
        #expect(append([1], to: &state).name == "reader")
        #expect(append([2], to: &state).name == "kept")
        #expect(part(state.read(or: "reader").read)?.bytes == [2])
    }

    @Test("A second reader displaces the first")
    func secondReader() {
        var state = State()
        _ = state.read(or: "first")
        #expect(state.read(or: "second").displaced == "first")
        #expect(append([1], to: &state).name == "second")
    }

    @Test("Receiving pauses at the limit, and continues when half of the bytes have been read")
    func pauses() {
        var state = State()
        let quarter = [UInt8](repeating: 0, count: State.highWater / 4)
        for _ in 0..<4 {
            #expect(append(quarter, to: &state).name == "kept")
        }
        #expect(append([1], to: &state).name == "refused")
        #expect(state.isPaused)
        #expect(part(state.read())?.unpause == false)
        #expect(part(state.read())?.unpause == true)
        #expect(!state.isPaused)
        #expect(part(state.read())?.unpause == false)
    }

    @Test("A part larger than the limit is kept if no other part is waiting")
    func largePart() {
        var state = State()
        #expect(append([UInt8](repeating: 0, count: State.highWater + 1), to: &state).name == "kept")
    }

    @Test("The end comes after the parts, and only the first end counts")
    func end() throws {
        var state = State()
        _ = state.takeHead(or: "head")
        _ = append([1], to: &state)
        let waiters = state.finish(.success(()), head: .success("head"), trailers: [7])
        #expect(waiters.head == "head" && waiters.body == nil)
        _ = state.finish(.success(()), head: .success("head"), trailers: [8])
        #expect(state.trailers == [7])
        #expect(part(state.read())?.bytes == [1])
        #expect(end(state.read()) == "success")
    }

    @Test("A failure resumes the waiting reader")
    func failureWhileWaiting() {
        var state = State()
        _ = state.read(or: "reader")
        #expect(state.finish(.failure(Reset()), head: .failure(Reset()), trailers: []).body == "reader")
    }

    @Test("A failure drops the unread parts")
    func failure() {
        var state = State()
        _ = append([1], to: &state)
        _ = state.finish(.failure(Reset()), head: .failure(Reset()), trailers: [])
        #expect(end(state.read()) == "failure")
    }
}

extension CurlExchangeState<String, String, String>.Arrival {
    /// The reader that wants the part, or the case's name.
    fileprivate var name: String {
        switch self {
        case .kept: "kept"
        case .refused: "refused"
        case .wanted(let reader): reader
        }
    }
}
