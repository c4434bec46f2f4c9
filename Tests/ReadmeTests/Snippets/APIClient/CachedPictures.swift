import APIClient
import Foundation

func caching(_ client: APIClient) -> APIClient {
    var client = client
    client.cache = DataCache(capacity: 60 << 20)
    return client
}

func picture(_ name: String, from client: APIClient) async throws -> (data: Data, isFromCache: Bool) {
    let picture = try await client.resource("pictures").child(name).cachedData()
    return (picture.data, picture.isFromCache)
}
