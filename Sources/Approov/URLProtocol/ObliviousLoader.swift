import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization

/// Holds the configuration of ``ApproovURLProtocol`` and sends its requests.
final class ObliviousLoader: Sendable {
    /// The only instance in the process.
    ///
    /// Foundation creates the instances of a `URLProtocol` class itself, so they can get their configuration only from a shared object.
    static let shared = ObliviousLoader()

    /// The parts that a request needs.
    struct Configuration: Sendable {
        let userAgent: String
        let relay: TransportURL
        let client: any KeyConfigurationClient
        let keys: LiveKeys
        let transport: any HTTPTransport
        let time: any TimeSource
        let policy: @Sendable () throws -> TrustPolicy
        let memory = GatewayMemory()
        let heads = ResponseHeads()
    }

    /// The parts from which a source of keys is made.
    struct Parts {
        let transport: any HTTPTransport
        let time: any TimeSource
        let policy: @Sendable () throws -> TrustPolicy
    }

    private struct State {
        var configuration: Configuration?
        var isEnabled = false
    }

    private let state = Mutex(State())

    var isEnabled: Bool {
        get { state.withLock { $0.isEnabled } }
        set { state.withLock { $0.isEnabled = newValue } }
    }

    /// Sets the configuration.
    ///
    /// - Parameters:
    ///   - userAgent: The User-Agent that the relay sees.
    ///   - relayURL: The relay's URL.
    ///   - trustManager: The trust rules for the relay and for the source of keys.
    ///   - transport: The transport that sends requests; nil for a new `CurlTransport`.
    ///   - time: The clock.
    ///   - keys: Creates the source of keys.
    /// - Throws: ``ApproovError`` with code `configurationError` when one of these cannot be used.
    func configure(
        userAgent: String, relayURL: URL, trustManager: ApproovTrustManager, transport: (any HTTPTransport)? = nil,
        time: any TimeSource = SystemTimeSource(), keys: (Parts) throws -> any KeyConfigurationClient
    ) throws {
        do {
            guard HTTPField.isValidValue(userAgent) else {
                throw ApproovError(.configurationError, "the user agent has characters that a header may not have")
            }
            let source = try PolicySource(manager: trustManager, keeper: nil)
            let parts = Parts(transport: try transport ?? CurlTransport(), time: time, policy: { try source.current().trust })
            let client = try keys(parts)
            let configuration = Configuration(
                userAgent: userAgent, relay: try ObliviousRoute.relay(relayURL.absoluteString), client: client, keys: LiveKeys(client),
                transport: parts.transport, time: time, policy: parts.policy)
            state.withLock { $0.configuration = configuration }
        } catch let error as ApproovError {
            throw error
        } catch {
            throw ApproovError(.configurationError, "requests cannot be sent over Oblivious HTTP", cause: error)
        }
    }

    /// Fetches the keys, or takes them from the cache.
    ///
    /// - Parameter invalidatingCache: Whether to fetch them again although cached ones are fresh.
    /// - Returns: The bytes.
    /// - Throws: ``ApproovError`` with code `configurationError` without a configuration; the error of the fetch when it fails.
    @discardableResult
    func fetchKeyConfiguration(invalidatingCache: Bool = false) async throws -> Data {
        try await configured().client.fetchKeyConfiguration(invalidatingCache: invalidatingCache)
    }

    /// Sends a request and reads the whole response; each body may have at most ``ObliviousChannel/maximumWholeBytes``.
    ///
    /// When the gateway refuses the key, this fetches the keys again and sends the request once more. If the method is not idempotent, it
    /// does so only if the key has changed: the relay can claim that the key was refused after the gateway has served the request.
    ///
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` when the task is cancelled.
    func load(_ request: URLRequest) async throws -> (HTTPURLResponse, Data) {
        do {
            let configuration = try configured()
            var step = try RedirectStep(request, body: RequestBody(of: request))
            // Hold the stream in memory, so that it can be sent again with new keys or with the gateway's date.
            if case .stream = step.body {
                let body = try await step.body.collected(
                    upTo: ObliviousChannel.maximumWholeBytes,
                    remedy: "ApproovURLProtocol holds a stream's in memory; ApproovSession sends one of any size")
                step.body = .bytes([UInt8](body))
            }
            var options = TransferOptions()
            if request.timeoutInterval > 0, request.timeoutInterval < 31_536_000 {
                options.idleTimeout = .seconds(request.timeoutInterval)
                options.connectTimeout = min(options.connectTimeout, options.idleTimeout)
            }
            let outgoing = TransportRequest(
                url: step.url, method: try request.method, headerFields: try HTTPFields(request), body: step.body,
                policy: try configuration.policy(), options: options)
            let response = try await send(outgoing, configuration)
            let body = try await response.body.collect(upTo: ObliviousChannel.maximumWholeBytes)
            return (try configuration.heads.head(of: Self.deliverable(response), to: request.url ?? URL(filePath: "/")), Data(body))
        } catch {
            throw error.asApproovError()
        }
    }

    /// The response without Basic challenges, if its status is 401.
    ///
    /// Foundation on Linux waits for a credential that a task with a `URLProtocol` never gets, so the task would never end.
    private static func deliverable(_ response: TransportResponse) -> TransportResponse {
        let challenges = response.headerFields[values: .wwwAuthenticate]
        guard response.status == 401, !challenges.isEmpty else { return response }
        var fields = response.headerFields
        fields[.wwwAuthenticate] = AuthenticationChallenges.withoutBasic(challenges.joined(separator: ", "))
        return TransportResponse(
            status: response.status, headerFields: fields, version: response.version, url: response.url, body: response.body)
    }

    private func send(_ request: TransportRequest, _ configuration: Configuration) async throws -> TransportResponse {
        let first = try await configuration.keys.key()
        do {
            return try await channel(configuration, first).send(request, isStreamed: false)
        } catch RelayExchange.Refusal.key {
            // A newer key may be accepted.
        }
        let second = try await configuration.keys.key(after: first, isIdempotent: request.isIdempotent)
        do {
            return try await channel(configuration, second).send(request, isStreamed: false)
        } catch RelayExchange.Refusal.key {
            throw LiveKeys.refusedAgain
        }
    }

    private func channel(_ configuration: Configuration, _ key: KeyConfiguration) -> ObliviousChannel {
        ObliviousChannel(
            route: KeyedRoute(relay: configuration.relay, key: key, chunking: .automatic), transport: configuration.transport,
            time: configuration.time, userAgent: configuration.userAgent, memory: configuration.memory)
    }

    private func configured() throws -> Configuration {
        guard let configuration = state.withLock({ $0.configuration }) else {
            assertionFailure("ApproovURLProtocol is used before it is configured: call ApproovURLProtocol.configure first")
            throw ApproovError(
                .configurationError, "ApproovURLProtocol is used before it is configured: call ApproovURLProtocol.configure first")
        }
        return configuration
    }
}
