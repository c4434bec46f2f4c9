@_spi(Internals) import ApproovBase
import Foundation
import OHTTP

/// The keys of a gateway as a ``KeyConfigurationClient`` gets them, and the rules for a gateway that refuses one.
final class LiveKeys: Sendable {
    private let client: any KeyConfigurationClient
    private let parsed = LastValue<Data, KeyConfiguration>()

    init(_ client: any KeyConfigurationClient) { self.client = client }

    /// Returns the key to seal a message with.
    ///
    /// - Parameter invalidatingCache: Whether the keys must be fetched again.
    /// - Returns: The preferred key.
    /// - Throws: ``ApproovError`` with code `obliviousError` when the keys cannot be used; any error of the client.
    func key(invalidatingCache: Bool = false) async throws -> KeyConfiguration {
        let bytes = try await client.fetchKeyConfiguration(invalidatingCache: invalidatingCache)
        do {
            return try parsed.value(for: bytes) { try KeyConfigurationList(published: $0).preferred() }
        } catch {
            throw ApproovError(.obliviousError, "the gateway's key configurations cannot be used", cause: error)
        }
    }

    /// Fetches the keys again after the gateway refused one, and returns the key to send the request with once more.
    ///
    /// - Parameters:
    ///   - refused: The key that was refused.
    ///   - isIdempotent: Whether the request may run twice. The relay can claim that the key was refused after the gateway has served the
    ///     request, so another request is sent again only with another key.
    /// - Returns: The key.
    /// - Throws: ``ApproovError`` with code `obliviousError` when the request must not be sent again; the errors of `key`.
    func key(after refused: KeyConfiguration, isIdempotent: Bool) async throws -> KeyConfiguration {
        let newest = try await key(invalidatingCache: true)
        guard isIdempotent || newest != refused else {
            throw ApproovError(
                .obliviousError, "the gateway, or the relay, refuses the keys that the gateway publishes: the request is not sent again")
        }
        return newest
    }

    /// The error for a key that was refused right after it was fetched.
    static var refusedAgain: ApproovError {
        ApproovError(.obliviousError, "the gateway does not accept the keys that it publishes: report this to its operator")
    }
}
