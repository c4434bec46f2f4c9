import APIClient
import Approov
import Foundation

struct Article: Codable {
    let id: Int
    let title: String
}

func publish(_ title: String, for userToken: String, at api: URL, over session: ApproovSession) async throws -> [Article] {
    var client = try APIClient(base: api, session: session)
    client.headers = ["Authorization": "Bearer \(userToken)"]  // the header that the session binds its tokens to
    let article: Article = try await client.post("articles", parameters: ["title": title])
    return try await client.get("articles", query: ["near": "\(article.id)", "tags": ["news", "swift"]])
}
