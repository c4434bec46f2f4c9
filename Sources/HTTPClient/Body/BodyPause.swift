/// Hands the parts of a body to a consumer that may hold bytes back to send them together with later bytes.
///
/// Tells the consumer when the held bytes have waited long enough.
package struct BodyPause: Sendable {
    /// What the consumer is told.
    package enum Event: Sendable {
        /// The next part.
        case part([UInt8])
        /// The held bytes have waited long enough.
        case pause
    }

    private enum Step: Sendable {
        case part([UInt8]?)
        case waited(Int)
    }

    private let wait: @Sendable () async throws -> Void

    /// Sets how long bytes may be held.
    ///
    /// - Parameter wait: Returns after that time; throws when its task is cancelled.
    package init(_ wait: @escaping @Sendable () async throws -> Void) { self.wait = wait }

    /// Hands out the parts in order, with a pause when bytes were held for too long.
    ///
    /// Bytes held for longer than the set time get a pause before twice that time has passed. The next part is requested after `use` has
    /// returned.
    ///
    /// - Parameters:
    ///   - next: Returns the next part, nil at the end; never called twice at once.
    ///   - holding: The bytes held at the start, in the form that `use` returns.
    ///   - use: Takes an event and returns a number for the bytes held from then on: nil for none, a different number once the held bytes
    ///     have gone out.
    /// - Throws: What `next` and `use` throw; `CancellationError` when the task is cancelled.
    package func forEach(
        _ next: @escaping @Sendable () async throws -> [UInt8]?, holding: Int? = nil, _ use: (Event) async throws -> Int?
    ) async throws {
        try await withThrowingTaskGroup(of: Step.self) { [wait] group in
            var holding = holding
            var isWaiting = false
            group.addTask { .part(try await next()) }
            while true {
                // One wait at a time, so that parts that come fast do not each begin and end one.
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
                    // A stream also ends when its reader is cancelled; its parts so far must not pass for the whole body.
                    try Task.checkCancellation()
                    group.cancelAll()
                    return
                }
            }
        }
    }
}
