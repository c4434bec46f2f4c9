public import ApproovServer
public import Attestation
public import Foundation
import Logging
import ServiceLifecycle
import Synchronization

/// A real authority on loopback, over a store in a temporary folder, with TLS of its own making.
///
///     let authority = try await TestAuthority.start()
///     try await authority.store.addHost("api.test", settings: HostSettings(pins: […]))
///     let configuration = try await authority.initialConfiguration()
///     …
///     await authority.stop()
public final class TestAuthority: Sendable {
    /// The account; change it while the authority runs.
    public let store: AuthorityStore
    /// The URL that apps use.
    public let url: URL
    /// The folder of the store; ``stop(removingStore:)`` removes it.
    public let directory: URL

    private let group: ServiceGroup
    private let running: Task<Void, any Error>

    private init(store: AuthorityStore, url: URL, directory: URL, group: ServiceGroup, running: Task<Void, any Error>) {
        self.store = store
        self.url = url
        self.directory = directory
        self.group = group
        self.running = running
    }

    /// Starts an authority and waits until it listens.
    /// - Parameters:
    ///   - directory: The folder of its store; a new temporary one by default. Give the one of an authority that was stopped
    ///     to start it again.
    ///   - seed: What a new store begins with; keys of its own by default.
    ///   - host: The name in its URL and certificate.
    ///   - port: The port to listen on; 0 lets the system choose.
    ///   - tokenLifetime: How long a token is good for, in seconds.
    ///   - attestationsPerMinute: How many attestations an address may ask for in a minute; `nil` for any number.
    ///   - time: The authority's clock.
    /// - Returns: The running authority.
    /// - Throws: When the store cannot be opened or no port can be had.
    public static func start(
        directory: URL? = nil, seed: AccountSeed? = nil, host: String = "localhost", port: Int = 0, tokenLifetime: Int = 300,
        attestationsPerMinute: Int? = nil, time: any TimeSource = SystemTimeSource()
    ) async throws -> TestAuthority {
        let directory = directory ?? FileManager.default.temporaryDirectory.appending(path: "approov-authority-\(UUID().uuidString)")
        let store = try AuthorityStore(directory: directory, seed: seed, time: time)
        let logger = Logger(label: "approov.testing") { _ in SwiftLogNoOpLogHandler() }
        let ready = StartSignal<URL>()
        let authority = try Authority(
            store: store,
            configuration: AuthorityConfiguration(
                port: port, publicURL: URL(string: "https://\(host):\(port)"), tokenLifetime: tokenLifetime,
                attestationsPerMinute: attestationsPerMinute),
            time: time, logger: logger, onReady: { ready.succeed($0) })
        let group = ServiceGroup(configuration: .init(services: [.init(service: authority)], logger: logger))
        let running = Task {
            defer { ready.fail() }
            try await group.run()
        }
        guard let url = await ready.value() else {
            // Either it ended by itself, and its error says why, or nobody waits for it any more.
            running.cancel()
            try await running.value
            try Task.checkCancellation()
            throw TestServerError("the authority ended before it listened")
        }
        return TestAuthority(store: store, url: url, directory: directory, group: group, running: running)
    }

    /// What an app of this authority ships with, as of now.
    /// - Returns: The initial configuration.
    /// - Throws: When the store cannot be read.
    public func initialConfiguration() async throws -> InitialConfiguration {
        try await store.initialConfiguration()
    }

    /// Stops the authority.
    /// - Parameters:
    ///   - removingStore: Whether the store's folder is removed; keep it to start the authority again.
    ///   - grace: How long requests in flight may take.
    public func stop(removingStore: Bool = true, grace: Duration = .milliseconds(500)) async {
        await group.triggerGracefulShutdown()
        let deadline = Task { [running] in
            try await Task.sleep(for: grace)
            running.cancel()
        }
        _ = await running.result
        deadline.cancel()
        if removingStore { try? FileManager.default.removeItem(at: directory) }
    }
}
