/// Hands the parts of a body to somebody who holds some bytes back to send them together with later ones, and says when they have waited
/// long enough.
package struct BodyPause: Sendable {
    /// What happens to a body.
    package enum Event: Sendable {
        /// The next part.
        case part([UInt8])
        /// What is held has waited long enough.
        case pause
    }

    private enum Step: Sendable {
        case part([UInt8]?)
        case waited(Int)
    }

    private let wait: @Sendable () async throws -> Void

    /// Says how long bytes may be held.
    ///
    /// - Parameter wait: returns after that time; throws when its task is cancelled.
    package init(_ wait: @escaping @Sendable () async throws -> Void) { self.wait = wait }

    /// Hands out the parts in order.
    ///
    /// What is held longer than the time is answered with a pause before twice the time has passed. The next part is asked for when `use`
    /// has returned.
    ///
    /// - Parameters:
    ///   - next: the next part, nil at the end; is never asked twice at once.
    ///   - holding: what is held already, as `use` returns it.
    ///   - use: takes an event and returns which bytes are held from then on: nil for none, another number when what was held has gone out.
    /// - Throws: what `next` and `use` throw; `CancellationError` when the task is cancelled.
    package func forEach(
        _ next: @escaping @Sendable () async throws -> [UInt8]?, holding: Int? = nil, _ use: (Event) async throws -> Int?
    ) async throws {
        try await withThrowingTaskGroup(of: Step.self) { [wait] group in
            var holding = holding
            var isWaiting = false
            group.addTask { .part(try await next()) }
            while true {
                // One wait at a time: for parts that come fast there is none to begin and to end for each.
                if let held = holding, !isWaiting {
                    isWaiting = true
                    group.addTask {
                        try await wait()
                        return .waited(held)
                    }
                }
                switch try await group.next() {
                case .part(let part?):
                    holding = try await use(.part(part))
                    group.addTask { .part(try await next()) }
                case .waited(let held):
                    isWaiting = false
                    if held == holding { holding = try await use(.pause) }
                case .part(nil), nil:
                    // A stream also ends because its reader is cancelled; what it gave until then must not be taken for all.
                    try Task.checkCancellation()
                    group.cancelAll()
                    return
                }
            }
        }
    }
}
