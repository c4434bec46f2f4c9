public import ApproovBase
public import ApproovAuthority
public import Attestation
public import Foundation
import Synchronization

/// A real authority on loopback, with a store in a temporary folder and its own TLS certificate.
///
/// It runs until it is stopped, or until this object is deallocated.
///
///     let authority = try await TestAuthority.start()
///     try await authority.store.addHost("api.test", settings: HostSettings(pins: […]))
///     let configuration = try await authority.initialConfiguration()
///     …
///     await authority.stop()
public final class TestAuthority: Sendable {
    /// The account's store; it can be changed while the authority runs.
    public let store: AuthorityStore
    /// The URL that apps use.
    public let url: URL
    /// The folder of the store; ``stop(removingStore:)`` removes it.
    public let directory: URL

    private let service: RunningService
    /// Whether the folder is removed with this object, so that a failed test leaves none behind.
    private let isTemporary: Mutex<Bool>

    private init(store: AuthorityStore, directory: URL, isTemporary: Bool, service: RunningService) {
        self.store = store
        url = service.url
        self.directory = directory
        self.isTemporary = Mutex(isTemporary)
        self.service = service
    }

    deinit {
        service.cancel()
        if isTemporary.withLock({ $0 }) { try? FileManager.default.removeItem(at: directory) }
    }

    /// Starts an authority and waits until it listens.
    /// - Parameters:
    ///   - directory: The folder of its store; a new temporary one by default. Pass the folder of a stopped authority to start that
    ///     authority again.
    ///   - seed: The new store's initial content; by default it generates its own keys.
    ///   - host: The host name in its URL and certificate.
    ///   - port: The port to listen on; 0 lets the system choose.
    ///   - tokenLifetime: The validity of a token, in seconds.
    ///   - attestationsPerMinute: The maximum number of attestations per minute and address; `nil` for no limit.
    ///   - time: The authority's clock.
    /// - Returns: The running authority.
    /// - Throws: When the store cannot be opened or the authority cannot listen.
    public static func start(
        directory: URL? = nil, seed: AccountSeed? = nil, host: String = "localhost", port: Int = 0, tokenLifetime: Int = 300,
        attestationsPerMinute: Int? = nil, time: any TimeSource = SystemTimeSource()
    ) async throws -> TestAuthority {
        let folder = directory ?? FileManager.default.temporaryDirectory.appending(path: "approov-authority-\(UUID().uuidString)")
        let store = try AuthorityStore(directory: folder, seed: seed, time: time)
        let configuration = AuthorityConfiguration(
            port: port, publicURL: URL(string: "https://\(host):\(port)"), tokenLifetime: tokenLifetime,
            attestationsPerMinute: attestationsPerMinute)
        do {
            let service = try await RunningService.start { onReady in
                try Authority(store: store, configuration: configuration, time: time, logger: .silent, onReady: onReady)
            }
            return TestAuthority(store: store, directory: folder, isTemporary: directory == nil, service: service)
        } catch {
            if directory == nil { try? FileManager.default.removeItem(at: folder) }
            throw error
        }
    }

    /// Makes the current initial configuration, for an app of this authority to ship with.
    /// - Returns: The initial configuration.
    /// - Throws: When the store cannot be read.
    public func initialConfiguration() async throws -> InitialConfiguration {
        try await store.initialConfiguration()
    }

    /// Stops the authority.
    /// - Parameters:
    ///   - removingStore: Whether to remove the store's folder; keep it to start the authority again.
    ///   - grace: The time that requests in flight may take.
    public func stop(removingStore: Bool = true, grace: Duration = .milliseconds(500)) async {
        isTemporary.withLock { $0 = $0 && removingStore }
        try? await service.stop(grace: grace)
        if removingStore { try? FileManager.default.removeItem(at: directory) }
    }
}
