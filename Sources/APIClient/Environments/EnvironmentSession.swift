public import Approov
internal import ApproovBase
internal import CertificatePinning
public import Foundation
public import FoundationNetworking
internal import HTTPClient
internal import HTTPRecording
public import Logging
internal import Synchronization

/// A session that can move to another ``APIEnvironment`` while the program runs.
///
/// ``use(_:)`` makes a new session, with its own service, tokens, pins, cookies and connections. Requests that are under way stay in the
/// old environment until they end; later ones go to the new one. Take ``current`` once for requests that belong together.
///
/// Each session keeps its cookies in memory: no other environment gets them, and neither does a later session of the same one. Only an app
/// that gives sessions another configuration changes that.
///
/// A client certificate belongs to its environment too: see ``APIEnvironment/presenting(_:)``.
///
/// Each environment has its own folder of state, because the configurations of two accounts exclude each other.
public final class EnvironmentSession: Sendable {
    /// An environment and its session, which stay together even while ``EnvironmentSession/use(_:)`` changes the environment.
    public struct Current: Sendable {
        /// The environment.
        public let environment: APIEnvironment
        /// The session for its requests.
        public let session: ApproovSession
        /// The client of the API, below the environment's base URL.
        public let client: APIClient
        /// The service that attests; nil for an environment without a configuration, and for a local one.
        public let service: ApproovService?
    }

    /// Makes the service of an environment from its configuration, with a folder of state.
    public typealias ServiceMaker = @Sendable (ApproovConfiguration, _ stateDirectory: URL) throws -> ApproovService
    /// Changes the settings of an environment's new session; the service is nil for an environment without a configuration, and for a local
    /// one.
    public typealias SessionSettings = @Sendable (APIEnvironment, ApproovService?, inout ApproovSessionConfiguration) throws -> Void

    private let stateDirectory: URL
    private let anchors: TrustAnchors?
    private let logger: Logger
    private let configure: SessionSettings
    private let adjust: @Sendable (APIEnvironment, inout APIClient) throws -> Void
    private let makeService: ServiceMaker
    private let wrapping: @Sendable (APIEnvironment) -> URLSessionConfiguration
    private let state: Mutex<Current>
    /// Held while a session is made, so that of two calls of ``use(_:)`` the later one wins.
    private let change = Mutex(())

    /// Makes the session of the first environment.
    ///
    /// - Parameters:
    ///   - environment: The environment.
    ///   - stateDirectory: The folder in which each attested environment gets a folder with its name.
    ///   - logger: Gets each change of the environment, and a warning when certificates are not validated.
    ///   - configure: Changes the settings of a new session, for example to give each environment its own credential. With the service,
    ///     `OAuth2Endpoints(client:service:)` attests log-ins. A local environment replaces the transport by its recording.
    ///   - adjust: Changes the settings of a new client, such as its headers and rules.
    ///   - makeService: Makes the service of an environment, for example with a development key.
    ///   - wrapping: Makes the configuration that a new session wraps, with its timeouts, proxies and additional headers. Return a new
    ///     ephemeral one each time: what comes from `.default` has the cookies of the whole process, so that one environment would send
    ///     another one's, and Foundation writes them to the disk.
    /// - Throws: What ``use(_:)`` throws.
    public convenience init(
        _ environment: APIEnvironment, stateDirectory: URL, logger: Logger = Logger(label: "approov.environment"),
        configure: @escaping SessionSettings = { _, _, _ in },
        adjust: @escaping @Sendable (APIEnvironment, inout APIClient) throws -> Void = { _, _ in },
        makeService: @escaping ServiceMaker = { try ApproovService(configuration: $0, stateDirectory: $1) },
        wrapping: @escaping @Sendable (APIEnvironment) -> URLSessionConfiguration = { _ in .ephemeral }
    ) throws {
        try self.init(
            environment, stateDirectory: stateDirectory, anchors: nil, logger: logger, makeService: makeService, wrapping: wrapping,
            configure: configure, adjust: adjust)
    }

    init(
        _ environment: APIEnvironment, stateDirectory: URL, anchors: TrustAnchors?, logger: Logger, makeService: @escaping ServiceMaker,
        wrapping: @escaping @Sendable (APIEnvironment) -> URLSessionConfiguration, configure: @escaping SessionSettings,
        adjust: @escaping @Sendable (APIEnvironment, inout APIClient) throws -> Void = { _, _ in }
    ) throws {
        self.stateDirectory = stateDirectory
        self.anchors = anchors
        self.logger = logger
        self.configure = configure
        self.adjust = adjust
        self.makeService = makeService
        self.wrapping = wrapping
        let first = try Self.make(environment, stateDirectory, anchors, logger, makeService, wrapping, configure, adjust)
        state = Mutex(first)
    }

    /// The environment in use with its session.
    public var current: Current { state.withLock { $0 } }

    /// The environment in use.
    public var environment: APIEnvironment { current.environment }

    /// The session of the environment in use.
    public var session: ApproovSession { current.session }

    /// The client of the environment in use.
    public var client: APIClient { current.client }

    /// Moves to another environment.
    ///
    /// Reads and writes files, so call it from a task that may take a moment. Requests under way end in the old environment.
    ///
    /// - Parameter environment: The environment.
    /// - Throws: ``APIError`` with code `invalidEnvironment`, which names the environment, when its service, session or recording cannot be
    ///   set up. The old environment then stays in use.
    public func use(_ environment: APIEnvironment) throws {
        try change.withLock { _ in
            let next = try Self.make(environment, stateDirectory, anchors, logger, makeService, wrapping, configure, adjust)
            // The old session is released outside of the lock.
            let old = state.withLock { state in
                defer { state = next }
                return state
            }
            logger.notice("the environment changed", metadata: ["from": "\(old.environment.name)", "to": "\(environment.name)"])
        }
    }

    private static func make(
        _ environment: APIEnvironment, _ stateDirectory: URL, _ anchors: TrustAnchors?, _ logger: Logger, _ makeService: ServiceMaker,
        _ wrapping: (APIEnvironment) -> URLSessionConfiguration, _ configure: SessionSettings,
        _ adjust: (APIEnvironment, inout APIClient) throws -> Void
    ) throws -> Current {
        do {
            var service: ApproovService?
            if case .remote(let account?) = environment.source {
                service = try makeService(account, stateDirectory.appending(path: environment.name, directoryHint: .isDirectory))
            }
            var configuration = ApproovSessionConfiguration()
            try configure(environment, service, &configuration)
            if case .local(let recordings) = environment.source { configuration.transport = try ReplayTransport(from: recordings) }
            if case .remote(nil) = environment.source, environment.trust == .pinned, environment.pins.isEmpty {
                throw APIError(
                    .invalidEnvironment,
                    "it sets trust to pinned, but has neither an account's configuration nor pins: add one, or use pathValidation")
            }
            let session = try ApproovSession(
                wrapping: URLSession(configuration: wrapping(environment)), service: service,
                trustManager: try trust(of: environment, anchors, logger), configuration: configuration)
            var client = try APIClient(base: environment.baseURL, session: session)
            try adjust(environment, &client)
            return Current(environment: environment, session: session, client: client, service: service)
        } catch {
            throw APIError(.invalidEnvironment, "the environment \(environment.name) cannot be used", cause: error)
        }
    }

    private static func trust(of environment: APIEnvironment, _ anchors: TrustAnchors?, _ logger: Logger) throws -> ApproovTrustManager {
        let host = try TransportURL(environment.baseURL).host.name
        if case .local = environment.source { return ApproovTrustManager(anchors: anchors, logger: logger) }
        var evaluators: [String: any ServerTrustEvaluating] = [:]
        if !environment.pins.isEmpty {
            evaluators[host] = try PublicKeysTrustEvaluator(pins: environment.pins, logger: logger)
        } else if environment.trust == .dangerouslyDisabled {
            logger.critical(
                "certificates are not validated: others on the network can read and change what is sent",
                metadata: ["environment": "\(environment.name)", "host": "\(host)"])
            evaluators[host] = DisabledTrustEvaluator(logger: logger)
        }
        if let identity = environment.clientIdentity {
            let evaluator = evaluators[host] ?? DefaultTrustEvaluator()
            evaluators[host] = evaluator.presenting(identity)
        }
        return ApproovTrustManager(
            allHostsMustBeEvaluated: environment.trust == .pinned, evaluators: evaluators, anchors: anchors, logger: logger)
    }
}
