import Foundation
import Logging
import ServiceLifecycle

/// A service that runs until it is stopped.
struct RunningService {
    let port: Int
    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    /// Starts a service and waits until it listens.
    static func start(_ make: (_ onReady: @escaping @Sendable (URL) async -> Void) throws -> any Service) async throws -> RunningService {
        let (ready, continuation) = AsyncStream.makeStream(of: URL.self)
        let service = try make { url in
            continuation.yield(url)
            continuation.finish()
        }
        let group = ServiceGroup(services: [service], logger: Logger(label: "demo") { _ in SwiftLogNoOpLogHandler() })
        let task = Task {
            defer { continuation.finish() }
            try await group.run()
        }
        for await url in ready { return RunningService(port: url.port ?? 0, group: group, task: task) }
        // Either it ended by itself, and its error says why, or nobody waits for it any more.
        await group.triggerGracefulShutdown()
        try await task.value
        try Task.checkCancellation()
        throw DemoFailure("a server ended before it listened")
    }

    func stop() async {
        await group.triggerGracefulShutdown()
        _ = await task.result
    }
}
