import APIClient
import Approov
import Foundation
import FoundationNetworking
import HTTPClient

func replaceVideo(_ name: String, with file: URL, on client: APIClient, onProgress: @escaping @Sendable (Int) -> Void) async throws {
    let video = RawBody(.file(path: file.path(percentEncoded: false)), contentType: "video/mp4")
    _ = try await client.resource("videos").child(name).send(.put, body: video) { onProgress($0.completed) }
}

func video(_ name: String, from client: APIClient) async throws -> URL {
    try await client.resource("videos").child(name).download().0
}

func rest(of name: String, from client: APIClient, resuming token: ResumeToken) async throws -> URL {
    let (request, _) = try client.resource("videos").child(name).request(.get)
    return try await client.connectedSession().download(for: request, resuming: token).0
}
