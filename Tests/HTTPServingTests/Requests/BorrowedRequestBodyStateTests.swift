import Testing

@testable import HTTPServing

@Suite struct BorrowedRequestBodyStateTests {
    private typealias State = BorrowedRequestBodyState<String, String>
    private struct Reset: Error {}

    private func state(limit: Int = 100, deadline: Duration? = nil) -> State {
        State(limit: limit, idleTimeout: .seconds(10), deadline: deadline)
    }

    /// A state in which a read is under way for a waiting reader.
    private func waiting(limit: Int = 100, deadline: Duration? = nil) throws -> (state: State, id: State.ReaderID) {
        var state = state(limit: limit, deadline: deadline)
        let id = try #require(state.enter(now: .zero).started)
        _ = state.readWaits(now: .zero)
        let actions = state.enlist("reader", id, isCancelled: false)
        try #require(actions.isEmpty)
        return (state, id)
    }

    /// A state in which a cancelled reader left its read behind.
    private func abandoned() throws -> State {
        var (state, id) = try waiting()
        let actions = state.withdraw(id)
        try #require(actions.resumed?.outcome.failure is CancellationError && actions.handler == nil && !actions.cancelsRead)
        return state
    }

    // MARK: Reading

    @Test("A part that is available at once goes to its reader without waiting")
    func immediatePart() throws {
        var state = state()
        let id = try #require(state.enter(now: .zero).started)
        #expect(state.collect(id) == nil)
        let landing = state.land(.success([1]), isCancelled: false)
        #expect(landing.isEmpty)
        let found = state.collect(id)
        let collected = try #require(found)
        #expect(try collected.outcome.get() == [1])
        #expect(collected.actions.isEmpty)
        #expect(state.enter(now: .zero).started != nil)
    }

    @Test("A part that arrives later resumes the waiting reader")
    func laterPart() throws {
        var (state, _) = try waiting()
        let actions = state.land(.success([1, 2]), isCancelled: false)
        #expect(actions.resumed?.reader == "reader")
        #expect(try actions.resumed?.outcome.get() == [1, 2])
        #expect(actions.handler == nil && !actions.cancelsRead)
    }

    @Test("A part that lands between a reader's entry and its wait is not lost")
    func partBetween() throws {
        var state = state()
        let id = try #require(state.enter(now: .zero).started)
        _ = state.land(.success([1]), isCancelled: false)
        let actions = state.enlist("reader", id, isCancelled: true)
        #expect(try actions.resumed?.outcome.get() == [1])
    }

    @Test("After the end every reader gets the end, and no read begins")
    func end() throws {
        var (state, _) = try waiting()
        let actions = state.land(.success(nil), isCancelled: false)
        #expect(try actions.resumed?.outcome.get() == nil)
        for _ in 0..<2 { #expect(try state.enter(now: .seconds(99)).outcome?.get() == nil) }
        #expect(state.takeWhole() == [])
    }

    @Test("An error goes to its reader and to every later one")
    func error() throws {
        var (state, _) = try waiting()
        #expect(state.land(.failure(Reset()), isCancelled: false).resumed?.outcome.failure is Reset)
        #expect(state.enter(now: .zero).outcome?.failure is Reset)
        #expect(state.lookForStall(now: .seconds(99)) == .stop)
    }

    @Test("The first byte above the limit is an error for its reader and for later ones")
    func limit() throws {
        var (state, _) = try waiting(limit: 3)
        #expect(try state.land(.success([1, 2, 3]), isCancelled: false).resumed?.outcome.get()?.count == 3)
        let id = try #require(state.enter(now: .zero).started)
        _ = state.land(.success([4]), isCancelled: false)
        #expect(state.collect(id)?.outcome.failure is BorrowedRequestBody.TooLong)
        #expect(state.enter(now: .zero).outcome?.failure is BorrowedRequestBody.TooLong)
    }

    @Test("A second reader is refused, whether the first one has entered or already waits")
    func secondReader() throws {
        var state = state()
        let id = try #require(state.enter(now: .zero).started)
        #expect(state.enter(now: .zero).outcome?.failure is BorrowedRequestBody.TakenBack)
        _ = state.enlist("reader", id, isCancelled: false)
        #expect(state.enter(now: .zero).outcome?.failure is BorrowedRequestBody.TakenBack)
    }

    // MARK: Cancelled readers

    @Test("A reader that was cancelled before it waits is resumed at once, and its read continues")
    func cancelledEarly() throws {
        var state = state()
        let id = try #require(state.enter(now: .zero).started)
        let actions = state.enlist("reader", id, isCancelled: true)
        #expect(actions.resumed?.outcome.failure is CancellationError)
        #expect(!actions.cancelsRead)
        #expect(state.enter(now: .zero).joined != nil)
    }

    @Test("The next reader joins the read that a cancelled reader left behind")
    func joins() throws {
        var state = try abandoned()
        let id = try #require(state.enter(now: .zero).joined)
        #expect(state.enlist("next", id, isCancelled: false).isEmpty)
        let actions = state.land(.success([1]), isCancelled: false)
        #expect(actions.resumed?.reader == "next")
    }

    @Test("A part that lands without a reader is kept for the next one")
    func landsForNoReader() throws {
        var state = try abandoned()
        #expect(state.land(.success([1]), isCancelled: false).isEmpty)
        #expect(try state.enter(now: .zero).outcome?.get() == [1])
        #expect(state.enter(now: .zero).started != nil)
    }

    @Test("Cancelling a reader that already has its part does not affect the next reader")
    func lateCancellation() throws {
        var (state, id) = try waiting()
        _ = state.land(.success([1]), isCancelled: false)
        let next = try #require(state.enter(now: .zero).started)
        _ = state.enlist("next", next, isCancelled: false)
        #expect(state.withdraw(id).isEmpty)
        #expect(state.withdraw(next).resumed?.reader == "next")
    }

    // MARK: Taking back

    @Test("The handler takes a body back at once if no task is reading it")
    func takenBackIdle() {
        var state = state()
        let actions = state.takeBack("handler", isDraining: false)
        #expect(actions.handler == "handler" && !actions.cancelsRead && actions.resumed == nil)
        #expect(state.enter(now: .zero).outcome?.failure is BorrowedRequestBody.TakenBack)
    }

    @Test("The handler waits for a reader, which still gets its part")
    func takenBackWhileReading() throws {
        var (state, _) = try waiting()
        #expect(state.takeBack("handler", isDraining: false).isEmpty)
        let actions = state.land(.success([1]), isCancelled: false)
        #expect(actions.resumed?.reader == "reader" && actions.handler == "handler")
    }

    @Test("Cancelling the reader while the handler waits cancels its read, and then the handler continues")
    func takenBackThenCancelled() throws {
        var (state, id) = try waiting()
        _ = state.takeBack("handler", isDraining: false)
        let left = state.withdraw(id)
        #expect(left.resumed?.reader == "reader" && left.cancelsRead && left.handler == nil)
        let landed = state.land(.success(nil), isCancelled: true)
        #expect(landed.handler == "handler" && landed.resumed == nil)
    }

    @Test("Taking a body back cancels a read that was left behind, and the handler waits for its end")
    func takenBackAbandoned() throws {
        var state = try abandoned()
        let actions = state.takeBack("handler", isDraining: false)
        #expect(actions.cancelsRead && actions.handler == nil)
        #expect(state.land(.success(nil), isCancelled: true).handler == "handler")
        #expect(state.takeWhole() == nil)
    }

    @Test("The handler waits for a reader that has entered until it has collected its part")
    func takenBackWhileEntering() throws {
        var state = state()
        let id = try #require(state.enter(now: .zero).started)
        #expect(state.takeBack("handler", isDraining: false).isEmpty)
        #expect(state.land(.success([1]), isCancelled: false).isEmpty)
        #expect(state.collect(id)?.actions.handler == "handler")
    }

    @Test("Draining continues a read that was left behind, and admits no other reader")
    func drains() throws {
        var state = try abandoned()
        let actions = state.takeBack("handler", isDraining: true)
        #expect(actions.handler == "handler" && !actions.cancelsRead)
        #expect(state.enter(now: .zero).outcome?.failure is BorrowedRequestBody.TakenBack)
        let id = try #require(state.enter(isDraining: true, now: .zero).joined)
        _ = state.enlist("handler's reader", id, isCancelled: false)
        #expect(state.enter(now: .zero).outcome?.failure is BorrowedRequestBody.TakenBack)
        _ = state.land(.success(nil), isCancelled: false)
        #expect(try state.enter(isDraining: true, now: .zero).outcome?.get() == nil)
        #expect(state.takeBack("handler", isDraining: false).handler == "handler")
        #expect(state.enter(isDraining: true, now: .zero).outcome?.failure is BorrowedRequestBody.TakenBack)
    }

    @Test("Draining waits for the reader, but not for its read")
    func drainsAfterReader() throws {
        var (state, id) = try waiting()
        #expect(state.takeBack("handler", isDraining: true).isEmpty)
        let actions = state.withdraw(id)
        #expect(actions.handler == "handler" && !actions.cancelsRead)
    }

    @Test("Draining drops the bytes that were read ahead")
    func drainsAhead() {
        var state = state()
        state.keep([1, 2])
        _ = state.takeBack("handler", isDraining: true)
        #expect(state.enter(isDraining: true, now: .zero).started != nil)
    }

    // MARK: Reading ahead

    @Test("Bytes that were read ahead come first, and only once")
    func ahead() throws {
        var state = state()
        state.keep([1, 2])
        #expect(state.takeWhole() == nil)
        #expect(try state.enter(now: .zero).outcome?.get() == [1, 2])
        #expect(state.enter(now: .zero).started != nil)
    }

    @Test("A body that was read ahead to its end is available whole, unless the handler took it back")
    func whole() throws {
        var (state, _) = try waiting()
        _ = state.land(.success(nil), isCancelled: false)
        state.keep([1, 2])
        var taken = state
        _ = taken.takeBack("handler", isDraining: false)
        #expect(taken.takeWhole() == nil)
        #expect(taken.enter(now: .zero).outcome?.failure is BorrowedRequestBody.TakenBack)
        #expect(state.takeWhole() == [1, 2])
        #expect(try state.enter(now: .zero).outcome?.get() == nil)
    }

    // MARK: Time

    @Test("The timer starts once, with the first read that waits")
    func timer() throws {
        var state = state()
        let id = try #require(state.enter(now: .zero).started)
        let isFirst = state.readWaits(now: .zero)
        _ = state.enlist("reader", id, isCancelled: false)
        _ = state.land(.success([1]), isCancelled: false)
        let landed = state.readWaits(now: .zero)
        _ = state.enter(now: .zero)
        let isSecond = state.readWaits(now: .seconds(1))
        #expect(isFirst && !landed && !isSecond)
    }

    @Test("A read without data for the idle timeout is cancelled, and its reader and later ones get `Stalled`")
    func stalled() throws {
        var (state, _) = try waiting()
        #expect(state.lookForStall(now: .seconds(9)) == .again(at: .seconds(10)))
        #expect(state.lookForStall(now: .seconds(10)) == .cancelRead)
        #expect(state.land(.success(nil), isCancelled: true).resumed?.outcome.failure is BorrowedRequestBody.Stalled)
        #expect(state.enter(now: .seconds(10)).outcome?.failure is BorrowedRequestBody.Stalled)
        #expect(state.takeWhole() == nil)
    }

    @Test("A part that lands although its read was cancelled is dropped")
    func stalledWithPart() throws {
        var (state, _) = try waiting()
        _ = state.lookForStall(now: .seconds(10))
        #expect(state.land(.success([1]), isCancelled: true).resumed?.outcome.failure is BorrowedRequestBody.Stalled)
    }

    @Test("The timer starts again for the next read if a part landed just before the cancellation")
    func timerStartsAgain() throws {
        var (state, _) = try waiting()
        #expect(state.lookForStall(now: .seconds(10)) == .cancelRead)
        // The read had ended before it was cancelled.
        _ = state.land(.success([1]), isCancelled: false)
        _ = state.enter(now: .seconds(10))
        let startsTimer = state.readWaits(now: .seconds(10))
        #expect(startsTimer)
        #expect(state.lookForStall(now: .seconds(19)) == .again(at: .seconds(20)))
    }

    @Test("Each read may wait for the whole idle timeout")
    func idleTimeout() throws {
        var (state, _) = try waiting()
        _ = state.land(.success([1]), isCancelled: false)
        #expect(state.lookForStall(now: .seconds(9)) == .again(at: .seconds(19)))
        _ = state.enter(now: .seconds(9))
        _ = state.readWaits(now: .seconds(9))
        #expect(state.lookForStall(now: .seconds(10)) == .again(at: .seconds(19)))
        #expect(state.lookForStall(now: .seconds(19)) == .cancelRead)
    }

    @Test("No read waits beyond the deadline, and none begins after it")
    func deadline() throws {
        var (state, _) = try waiting(deadline: .seconds(4))
        #expect(state.lookForStall(now: .seconds(3)) == .again(at: .seconds(4)))
        _ = state.land(.success([1]), isCancelled: false)
        #expect(state.enter(now: .seconds(4)).outcome?.failure is BorrowedRequestBody.Stalled)
    }

    @Test("When the deadline is lifted, later reads may wait as long as the idle timeout")
    func liftedDeadline() throws {
        var (state, _) = try waiting(deadline: .seconds(4))
        _ = state.land(.success([1]), isCancelled: false)
        state.liftDeadline()
        #expect(state.enter(now: .seconds(5)).started != nil)
        _ = state.readWaits(now: .seconds(5))
        #expect(state.lookForStall(now: .seconds(6)) == .again(at: .seconds(15)))
    }

    @Test("The timer continues while the body is drained, and stops once it was taken back")
    func timerEnds() throws {
        var state = try abandoned()
        _ = state.takeBack("handler", isDraining: true)
        #expect(state.lookForStall(now: .seconds(9)) == .again(at: .seconds(10)))
        _ = state.takeBack("handler", isDraining: false)
        #expect(state.lookForStall(now: .seconds(10)) == .stop)
    }
}

extension BorrowedRequestBodyState.Entry {
    fileprivate var started: UInt64? { if case .start(let id) = self { id } else { nil } }
    fileprivate var joined: UInt64? { if case .join(let id) = self { id } else { nil } }
    fileprivate var outcome: Result<[UInt8]?, any Error>? { if case .done(let outcome) = self { outcome } else { nil } }
}

extension BorrowedRequestBodyState.Actions {
    fileprivate var isEmpty: Bool { resumed == nil && handler == nil && !cancelsRead }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
