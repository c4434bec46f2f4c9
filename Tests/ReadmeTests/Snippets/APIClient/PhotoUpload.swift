import APIClient
import Foundation

func addPhoto(_ file: URL, titled title: String, to album: String, with client: APIClient) async throws -> APIResponse {
    var form = MultipartBody()
    form.append(FormPart(name: "title", content: .text(title)))
    form.append(FormPart(name: "photo", filename: "photo.jpg", content: try .file(file, type: "image/jpeg")))
    return try await client.resource("albums").child(album).send(.post, body: form)
}
