import HTTPClient
import OHTTP

/// A relay, and the one key of the gateway behind it that a message is sealed with.
struct KeyedRoute: Sendable {
    let relay: TransportURL
    let key: KeyConfiguration
    let chunking: ObliviousRoute.Chunking
}
