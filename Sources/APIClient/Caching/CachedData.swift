public import Foundation
public import FoundationNetworking

/// A response that may come from a ``DataCache``.
public struct CachedData: Sendable {
    /// The content.
    public let data: Data
    /// Status, headers and URL.
    public let head: HTTPURLResponse
    /// Whether the cache had the response; false for a response that the server sent for this request or for an equal one at the same time.
    public let isFromCache: Bool

    /// The response without its origin.
    public var response: APIResponse { APIResponse(data: data, head: head) }
}
