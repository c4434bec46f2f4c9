public import Foundation
public import Logging
public import ServiceLifecycle

/// A service on a socket of its own that runs until it is stopped: an authority, a relay or a gateway, say.
public struct RunningService: Sendable {
    /// Where it listens.
    public let url: URL
    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    /// The port that it listens on.
    public var port: Int { url.port ?? 0 }

    /// Starts a service and waits until it listens.
    /// - Parameters:
    ///   - logger: Gets what is said of its life; nobody by default.
    ///   - make: Makes the service, which calls `onReady` with its URL when it listens.
    /// - Returns: The running service.
    /// - Throws: What kept it from listening; `CancellationError` when the task is cancelled meanwhile.
    public static func start(
        logger: Logger? = nil, _ make: (_ onReady: @escaping @Sendable (URL) async -> Void) throws -> any Service
    ) async throws -> RunningService {
        let ready = StartSignal<URL>()
        let service = try make { ready.succeed($0) }
        let group = ServiceGroup(services: [service], logger: logger ?? .nobody)
        let task = Task {
            defer { ready.fail() }
            try await group.run()
        }
        if let url = await ready.value() { return RunningService(url: url, group: group, task: task) }
        // Either it ended by itself, and its error says why, or nobody waits for it any more.
        task.cancel()
        try await task.value
        try Task.checkCancellation()
        throw TestServerError("the service ended before it listened")
    }

    /// Starts a service, hands it over, and stops it.
    /// - Parameters:
    ///   - logger: Gets what is said of its life; nobody by default.
    ///   - make: Makes the service, as for ``start(logger:_:)``.
    ///   - body: What needs it.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; what kept the service from listening, or what it ended with.
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

    /// Asks it to end, without waiting until it has.
    package func beginStop() async {
        await group.triggerGracefulShutdown()
    }

    /// Asks it to end, and waits until it has.
    /// - Throws: What the service ended with.
    public func stop() async throws {
        await group.triggerGracefulShutdown()
        try await task.value
    }

    /// Asks it to end, and cuts off what has not ended in time.
    /// - Parameters:
    ///   - grace: How long requests in flight may take.
    ///   - cutOff: What is done then, before the service is cancelled.
    /// - Throws: What the service ended with, unless it was cut off.
    func stop(grace: Duration, cutOff: @escaping @Sendable () -> Void = {}) async throws {
        await group.triggerGracefulShutdown()
        let deadline = Task { [task] in
            try await Task.sleep(for: grace)
            cutOff()
            task.cancel()
        }
        defer { deadline.cancel() }
        do { try await task.value } catch is CancellationError {}
    }

    func cancel() { task.cancel() }
}

extension Logger {
    /// Keeps nothing.
    static var nobody: Logger { Logger(label: "approov.testing") { _ in SwiftLogNoOpLogHandler() } }
}
