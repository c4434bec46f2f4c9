import APIClient
import Approov
import Foundation

struct Kitten: Codable, Equatable {
    var name: String
    var lives: Int
}

func kittenClient(base: URL, session: ApproovSession, token: @escaping @Sendable () -> String) throws -> APIClient {
    try APIClient(base: base, session: session).configured { rules in
        try rules.configure("**", description: "auth token") { $0.headers["X-Auth-Token"] = token() }
        try rules.configure("reports/**", description: "slow reports") { $0.timeout = .seconds(300) }
    }
}

func adopt(_ kitten: Kitten, photo: String, with client: APIClient) async throws -> Kitten {
    let adopted = try await client.post("kittens", parameters: kitten, as: Kitten.self)
    let form = MultipartBody([FormPart(name: "photo", content: .file(path: photo, type: "image/jpeg"))])
    _ = try await client.resource("kittens").child(adopted.name).send(.put, body: form)
    return try await client.get("kittens", query: ["name": .string(adopted.name)])
}
