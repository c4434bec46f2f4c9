import APIClient
import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import TestTags
import Testing

/// Runs the code of APIClient's documentation.
@Suite(.tags(.sockets)) struct ClientArticleTests {
    @Test("The landing page's client adopts a kitten: its rules, form and typed results reach the server")
    func client() async throws {
        let folder = try TemporaryFolder()
        let photo = try folder.write("picture", to: "tom.jpg")
        let seen = Shared<[String]>([])
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            let token = request.headerFields.first { $0.name.canonicalName == "x-auth-token" }?.value ?? ""
            let body = String(decoding: try await request.body.collect(), as: UTF8.self)
            seen.change { $0.append("\(request.method) \(request.target) \(token) \(body.contains("picture"))") }
            return TestResponse(headerFields: [.contentType: "application/json"], body: Array(#"{"name":"tom","lives":9}"#.utf8))
        }
        let session = try ApproovSession(service: nil)
        let client = try kittenClient(base: try #require(URL(string: server.url)), session: session) { "t" }
        let kitten = try await adopt(Kitten(name: "tom", lives: 9), photo: photo, with: client)
        #expect(kitten == Kitten(name: "tom", lives: 9))
        #expect(seen.value == ["POST /kittens t false", "PUT /kittens/tom t true", "GET /kittens?name=tom t false"])
        await server.stop()
    }

    @Test("The landing page's query is written in its format")
    func query() throws {
        let request = try kittenSearch(at: try #require(URL(string: "https://api.example.com/kittens")))
        #expect(
            request.url?.absoluteString == "https://api.example.com/kittens?options.include=fuzzy,fluffy,not%20mean&options.limit=4")
    }
}
