public import Foundation
public import Logging
public import ServiceLifecycle

/// A service, such as an authority, relay or gateway, that listens on its own socket and runs until it is stopped.
public struct RunningService: Sendable {
    /// The URL of the service.
    public let url: URL
    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    /// The port that the service listens on.
    public var port: Int { url.port ?? 0 }

    /// Starts a service and waits until it listens.
    /// - Parameters:
    ///   - logger: Logs the start and end of the service; by default discards everything.
    ///   - make: Makes the service, which calls `onReady` with its URL when it listens.
    /// - Returns: The running service.
    /// - Throws: The error that kept the service from listening; `CancellationError` when the task is cancelled meanwhile.
    public static func start(
        logger: Logger? = nil, _ make: (_ onReady: @escaping @Sendable (URL) async -> Void) throws -> any Service
    ) async throws -> RunningService {
        let ready = StartSignal<URL>()
        let service = try make { ready.succeed($0) }
        let group = ServiceGroup(services: [service], logger: logger ?? .silent)
        let task = Task {
            defer { ready.fail() }
            try await group.run()
        }
        if let url = await ready.value() { return RunningService(url: url, group: group, task: task) }
        // Either the service ended by itself, and its error says why, or this task was cancelled.
        task.cancel()
        try await task.value
        try Task.checkCancellation()
        throw TestServerError("the service ended before it began to listen")
    }

    /// Starts a service, runs a body with it, and stops it.
    /// - Parameters:
    ///   - logger: Logs the start and end of the service; by default discards everything.
    ///   - make: Makes the service, as for ``start(logger:_:)``.
    ///   - body: The code that needs the service.
    /// - Returns: The result of the body.
    /// - Throws: The body's error, the error that kept the service from listening, or the one that it ended with.
    package static func with<Result>(
        logger: Logger? = nil, _ make: (_ onReady: @escaping @Sendable (URL) async -> Void) throws -> any Service,
        body: (RunningService) async throws -> Result
    ) async throws -> Result {
        let service = try await start(logger: logger, make)
        let result: Result
        do {
            result = try await body(service)
        } catch {
            try? await service.stop()
            throw error
        }
        try await service.stop()
        return result
    }

    /// Asks the service to end, without waiting for it.
    package func beginStop() async {
        await group.triggerGracefulShutdown()
    }

    /// Asks the service to end, and waits until it has ended.
    /// - Throws: The error that the service ended with.
    public func stop() async throws {
        await group.triggerGracefulShutdown()
        try await task.value
    }

    /// Asks the service to end, and cancels it when the grace period is over.
    /// - Parameters:
    ///   - grace: The time that requests in flight may take.
    ///   - cutOff: Runs after the grace period, before the service is cancelled.
    /// - Throws: The error that the service ended with, unless it was cancelled.
    func stop(grace: Duration, cutOff: @escaping @Sendable () async -> Void = {}) async throws {
        await group.triggerGracefulShutdown()
        let deadline = Task { [task] in
            try await Task.sleep(for: grace)
            await cutOff()
            task.cancel()
        }
        defer { deadline.cancel() }
        do { try await task.value } catch is CancellationError {}
    }

    func cancel() { task.cancel() }
}
