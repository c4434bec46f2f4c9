import ApproovBase
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization

/// Fetches key configurations from a URL and caches them for as long as their response allows (RFC 9111).
///
/// The headers `Cache-Control`, `Age` and `Expires` set that time. All callers share one fetch. A failed fetch is not cached: the next
/// caller starts another. A response that states no lifetime serves only the callers that waited for it.
final class HTTPKeyConfigurationClient: KeyConfigurationClient {
    /// The maximum size of a list of keys in bytes.
    static let maximumBytes = 64 << 10

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

    func fetchKeyConfiguration(invalidatingCache: Bool) async throws -> Data {
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
        case .flight(let flight): return try await flight.task.value
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
        options.connectTimeout = .seconds(10)
        options.idleTimeout = .seconds(10)
        options.totalTimeout = .seconds(15)
        options.maximumHeaderBytes = 16_384
        options.maximumBodyBytes = Self.maximumBytes
        let response = try await transport.send(
            TransportRequest(url: url, headerFields: fields, policy: try policy(), options: options))
        guard response.status == 200 else {
            throw ApproovError(.networkingError, "\(url.host) answered \(response.status) instead of key configurations")
        }
        guard response.headerFields.mediaType == OHTTPMediaType.keys else {
            throw ApproovError(
                .networkingError, "the response of \(url.host) is not \(OHTTPMediaType.keys): check the URL of the key configurations")
        }
        let bytes = try await response.body.collect(upTo: Self.maximumBytes)
        return (Data(bytes), FreshnessLifetime.remaining(response.headerFields, now: time.date))
    }
}
