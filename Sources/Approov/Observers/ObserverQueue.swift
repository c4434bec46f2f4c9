import Dispatch
import Foundation
import Synchronization

/// Calls one observer, one event after the other, on a thread that no request needs.
final class ObserverQueue: Sendable {
    /// The longest time between two deliveries of a busy session.
    private static let pause = DispatchTimeInterval.milliseconds(10)

    let shown: ShownHeaders
    let wantsHeads: Bool
    private let observer: any SessionObserver
    // A dispatch queue, because an observer may block, and the threads of tasks must not.
    private let queue = DispatchQueue(label: "approov.observer")
    private let state = Mutex(ObserverQueueState())
    /// Ends a pause early.
    private let hurry = DispatchSemaphore(value: 0)

    init(_ observer: any SessionObserver, reserved: Set<String>) {
        self.observer = observer
        wantsHeads = observer.wantsHeads
        shown = ShownHeaders(observer.shownHeaders, reserved: reserved)
    }

    /// Adds an event; returns at once.
    func post(_ event: SessionEvent) {
        switch state.withLock({ $0.add(event) }) {
        case .none: break
        case .deliver: queue.async { self.deliver() }
        case .hurry: hurry.signal()
        }
    }

    /// Ends a pause, because no more events come.
    func finish() { hurry.signal() }

    /// Delivers all that waits, and then once each pause, until nothing waits at its end.
    ///
    /// Without the pause, each event of a busy session would wake this thread: that costs more than all other work on the event.
    private func deliver() {
        while let batch = state.withLock({ $0.next() }) {
            for event in batch.events {
                switch event {
                case .willSend(let request): observer.willSend(request)
                case .didReceive(let response): observer.didReceive(response)
                case .didFinish(let metrics): observer.didFinish(metrics)
                case .didFail(let failure): observer.didFail(failure)
                }
            }
            if batch.dropped > 0 { observer.didDrop(batch.dropped) }
            if state.withLock({ $0.delivered() }) { _ = hurry.wait(timeout: .now() + Self.pause) }
        }
    }
}
