internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import Synchronization

/// A connection between its acceptance and the task that handles it.
///
/// A server that stops drops the connections for which no task has begun yet. SwiftNIO ends the process when a connection's writer is
/// dropped before a task has finished it. So a dropped connection is closed here, and then handled up to its end.
final class AcceptedConnection<Base: ServerChildChannel>: ServerChildChannelValue {
    private let base: Base
    private let value: Base.Value
    private let logger: Logger
    private let isHandled = Atomic(false)

    init(_ value: Base.Value, of base: Base, logger: Logger) {
        self.value = value
        self.base = base
        self.logger = logger
    }

    var channel: any Channel { value.channel }

    /// Handles the connection until it is closed.
    func handle(logger: Logger) async {
        isHandled.store(true, ordering: .relaxed)
        await base.handle(value: value, logger: logger)
        // If the process ended before the connection closed, the answer would be lost.
        try? await value.channel.closeFuture.get()
    }

    deinit {
        guard !isHandled.load(ordering: .relaxed) else { return }
        value.channel.close(promise: nil)
        Task.detached { [base, value, logger] in await base.handle(value: value, logger: logger) }
    }
}
