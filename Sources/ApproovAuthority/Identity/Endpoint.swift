internal import Foundation

/// The URL and the TLS keys that the authority was last served with.
struct Endpoint: Sendable, Equatable {
    let url: URL
    let pins: [String]
    let trustRoots: String?
}
