public import ApproovBase
import Attestation
import CertificatePinning
public import Foundation
public import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization

/// Fetches key configurations from a URL and caches them for as long as their response allows (RFC 9111).
///
/// The headers `Cache-Control`, `Age` and `Expires` set that time. All callers share one fetch. A failed fetch is not cached: the next
/// caller starts another. A response that states no lifetime serves only the callers that waited for it.
///
///     let keys = try HTTPKeyConfigurationClient(url: URL(string: "https://gateway.example.com/ohttp-keys")!)
///     let route = try ObliviousRoute(relay: relay, keys: keys)
///
/// A server that gives each client its own keys could tell the clients apart behind the relay (RFC 9458, section 6.1). To find that out,
/// compare the bytes that ``fetchKeyConfiguration(invalidatingCache:)`` returns with those from another source, for example with a signed
/// configuration or with a fetch over another network.
public final class HTTPKeyConfigurationClient: KeyConfigurationClient {
    /// The maximum size of a list of keys in bytes.
    static let maximumBytes = 64 << 10
    /// The largest header section of the answer, in bytes.
    private static let maximumHeaderBytes = 16_384
    /// How long connecting may take, and each wait for the server.
    private static let idleTimeout: Duration = .seconds(10)
    /// How long a fetch may take.
    private static let totalTimeout: Duration = .seconds(15)

    private struct State {
        var bytes: Data?
        var freshUntil: Duration = .zero
        var flight: Flight?
        var lastID = 0
    }

    private struct Flight {
        let id: Int
        /// Whether the fetch bypasses all caches; callers whose keys were refused share it.
        let isPastCache: Bool
        let task: Task<Data, any Error>
    }

    private let url: TransportURL
    private let userAgent: String
    private let transport: any HTTPTransport
    private let policy: @Sendable () throws -> TrustPolicy
    private let time: any TimeSource
    private let state = Mutex(State())

    /// Creates a client; it fetches nothing yet.
    ///
    /// - Parameters:
    ///   - url: The URL of the gateway's key configurations: https, or plain http on a loopback address.
    ///   - userAgent: The User-Agent that the server sees: the same for all users of a program, without version or platform.
    ///   - trustManager: The trust rules for the server.
    ///   - transport: Sends the requests; nil means a new `CurlTransport`.
    ///   - clock: The clock.
    /// - Throws: ``ApproovError`` with code `configurationError` when the URL, the user agent or the trust manager cannot be used.
    public convenience init(
        url: URL, userAgent: String = "approov", trustManager: ApproovTrustManager = ApproovTrustManager(),
        transport: (any HTTPTransport)? = nil, clock: any TimeSource = SystemTimeSource()
    ) throws {
        do {
            guard HTTPField.isValidValue(userAgent) else {
                throw ApproovError(.configurationError, "the user agent has characters that a header may not have")
            }
            let source = try PolicySource(manager: trustManager, keeper: nil)
            self.init(
                url: try ObliviousRoute.keys(url.absoluteString), userAgent: userAgent, transport: try transport ?? CurlTransport(),
                time: clock, policy: { try source.current().trust })
        } catch let error as ApproovError {
            throw error
        } catch {
            throw ApproovError(.configurationError, "the gateway's keys cannot be fetched", cause: error)
        }
    }

    init(
        url: TransportURL, userAgent: String, transport: any HTTPTransport, time: any TimeSource,
        policy: @escaping @Sendable () throws -> TrustPolicy
    ) {
        self.url = url
        self.userAgent = userAgent
        self.transport = transport
        self.time = time
        self.policy = policy
    }

    /// Fetches the key configurations, or takes them from the cache.
    ///
    /// A cancelled caller stops waiting; the fetch continues for the others.
    /// - Parameter invalidatingCache: Whether to fetch them again although the cached ones are fresh, past all caches.
    /// - Returns: The bytes of `application/ohttp-keys` (RFC 9458, section 3.2), at most 64 KiB.
    /// - Throws: ``ApproovError`` with code `networkingError` when the server answers anything else, with a ``KeyConfigurationFailure`` as
    ///   its cause; with code `responseTooLarge`; any error of the transport; `CancellationError`.
    public func fetchKeyConfiguration(invalidatingCache: Bool = false) async throws -> Data {
        let now = time.uptime
        enum Found { case bytes(Data), flight(Flight) }
        let found = state.withLock { state -> Found in
            if invalidatingCache {
                // A fetch in progress may return the keys from before the change. Leave it to the callers that already wait for it.
                state.bytes = nil
                if state.flight?.isPastCache == false { state.flight = nil }
            }
            if let bytes = state.bytes, now < state.freshUntil { return .bytes(bytes) }
            if let flight = state.flight { return .flight(flight) }
            state.lastID += 1
            let id = state.lastID
            // Detached: the fetch belongs to all its waiters, so none of them can cancel it.
            let task = Task.detached { [self] in try await self.fetch(id: id, invalidatingCache: invalidatingCache) }
            let flight = Flight(id: id, isPastCache: invalidatingCache, task: task)
            state.flight = flight
            return .flight(flight)
        }
        switch found {
        case .bytes(let bytes): return bytes
        case .flight(let flight): return try await flight.task.valueUnlessCancelled
        }
    }

    private func fetch(id: Int, invalidatingCache: Bool) async throws -> Data {
        let result: Result<(Data, Duration), any Error>
        do {
            result = .success(try await load(invalidatingCache: invalidatingCache))
        } catch {
            result = .failure(error)
        }
        let now = time.uptime
        state.withLock { state in
            // Only the newest fetch may fill the cache.
            guard state.flight?.id == id else { return }
            state.flight = nil
            if case .success(let (bytes, lifetime)) = result {
                state.bytes = bytes
                state.freshUntil = now + lifetime
            }
        }
        return try result.get().0
    }

    private func load(invalidatingCache: Bool) async throws -> (Data, Duration) {
        var fields: HTTPFields = [.accept: OHTTPMediaType.keys, .userAgent: userAgent]
        if invalidatingCache { fields[.cacheControl] = "no-cache" }
        var options = TransferOptions()
        options.connectTimeout = Self.idleTimeout
        options.idleTimeout = Self.idleTimeout
        options.totalTimeout = Self.totalTimeout
        options.maximumHeaderBytes = Self.maximumHeaderBytes
        options.maximumBodyBytes = Self.maximumBytes
        let response = try await transport.send(
            TransportRequest(url: url, headerFields: fields, policy: try policy(), options: options))
        guard response.status == 200 else {
            throw ApproovError(
                .networkingError, "\(url.host) answered \(response.status) instead of key configurations",
                cause: KeyConfigurationFailure.unexpectedStatus(response.status))
        }
        guard response.headerFields.mediaType == OHTTPMediaType.keys else {
            throw ApproovError(
                .networkingError, "the response of \(url.host) is not \(OHTTPMediaType.keys): check the URL of the key configurations",
                cause: KeyConfigurationFailure.unexpectedMediaType)
        }
        let bytes = try await response.body.collect(upTo: Self.maximumBytes)
        return (Data(bytes), FreshnessLifetime.remaining(response.headerFields, now: time.date))
    }
}
