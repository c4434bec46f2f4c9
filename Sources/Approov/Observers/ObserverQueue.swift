import Dispatch
import Foundation
import Synchronization

/// Calls one observer, one event after the other, on a thread that no request needs.
final class ObserverQueue: Sendable {
    /// The seconds between the deliveries of a busy session, which brings some hundred events in that time.
    private static let pause = 0.001

    let shown: ShownHeaders
    private let observer: any SessionObserver
    // A dispatch queue, because an observer may block, and the threads of tasks must not.
    private let queue = DispatchQueue(label: "approov.observer")
    private let state = Mutex(ObserverQueueState())

    init(_ observer: any SessionObserver, reserved: Set<String>) {
        self.observer = observer
        shown = ShownHeaders(observer.shownHeaders, reserved: reserved)
    }

    /// Adds an event; returns at once.
    func post(_ event: SessionEvent) {
        guard state.withLock({ $0.add(event) }) else { return }
        queue.async { self.deliver() }
    }

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
            state.withLock { $0.delivered() }
            Thread.sleep(forTimeInterval: Self.pause)
        }
    }
}
