public import Foundation
import Logging
public import ServiceLifecycle

/// A service on a socket of its own that runs until it is stopped: a relay or a gateway, say.
public struct RunningService: Sendable {
    /// Where it listens.
    public let url: URL
    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    /// The port that it listens on.
    public var port: Int { url.port ?? 0 }

    /// Starts a service and waits until it listens.
    /// - Parameter make: Makes the service, which calls `onReady` with its URL when it listens.
    /// - Returns: The running service.
    /// - Throws: What kept it from listening; `CancellationError` when the task is cancelled meanwhile.
    public static func start(
        _ make: (_ onReady: @escaping @Sendable (URL) async -> Void) throws -> any Service
    ) async throws -> RunningService {
        let ready = StartSignal<URL>()
        let service = try make { ready.succeed($0) }
        let group = ServiceGroup(services: [service], logger: Logger(label: "approov.testing") { _ in SwiftLogNoOpLogHandler() })
        let task = Task {
            defer { ready.fail() }
            try await group.run()
        }
        if let url = await ready.value() { return RunningService(url: url, group: group, task: task) }
        // Either it ended by itself, and its error says why, or nobody waits for it any more.
        await group.triggerGracefulShutdown()
        try await task.value
        try Task.checkCancellation()
        throw TestServerError("the service ended before it listened")
    }

    /// Asks it to end, and waits until it has.
    public func stop() async {
        await group.triggerGracefulShutdown()
        _ = await task.result
    }
}
