import APIClient
import Approov
import Foundation
import HTTPClient

func replaceVideo(_ name: String, with file: URL, on client: APIClient, onProgress: @escaping @Sendable (Int) -> Void) async throws {
    let video = try RawBody(file: file, contentType: "video/mp4")
    _ = try await client.resource("videos").child(name).send(.put, body: video) { onProgress($0.completed) }
}

func video(
    _ name: String, from client: APIClient, resuming token: ResumeToken?, onToken: @escaping @Sendable (ResumeToken) -> Void
) async throws -> URL {
    try await client.resource("videos").child(name).download(resuming: token, onToken: onToken).0
}

func headlines(from client: APIClient, show: (String) -> Void) async throws {
    let (events, _) = try await client.resource("news").events()
    for try await event in events { show(event.data) }
}
