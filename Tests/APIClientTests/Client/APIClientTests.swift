import APIClient
import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S2.1, S2.8, S2.9, S2.35, S2.36, S2.37, S2.38, S2.42, S2.43, S2.65, S3.30, S3.32, S3.52, S3.54, S3.55
@Suite(.tags(.sockets), .timeLimit(.minutes(5)))
struct APIClientTests {
    private struct Item: Codable, Equatable {
        var id: Int
        var name: String
    }

    /// What a server of these tests received.
    private struct Received: Codable {
        var method: String
        var target: String
        var headers: [String: String]
        var body: String
    }

    /// Lends a client of a server that answers with what it received.
    private func with(_ work: (APIClient, TestHTTPServer) async throws -> Void) async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            if request.path == "/v1/moved" {
                return TestResponse(.found, headerFields: [.location: request.target.replacing("/v1/moved?to=", with: "")])
            }
            if request.path == "/v1/missing" {
                return TestResponse(.notFound, headerFields: [.contentType: "application/json"], body: Array("{}".utf8))
            }
            var headers: [String: String] = [:]
            for field in request.headerFields { headers[field.name.canonicalName] = field.value }
            let received = Received(
                method: request.method.rawValue, target: request.target, headers: headers,
                body: String(decoding: try await request.body.collect(), as: UTF8.self))
            return TestResponse(headerFields: [.contentType: "application/json"], body: [UInt8](try JSONEncoder().encode(received)))
        }
        let base = try #require(URL(string: server.url + "/v1"))
        try await work(try APIClient(base: base, session: try ApproovSession(service: nil)), server)
        await server.stop()
    }

    @Test(
        "The client's Accept, or a rule's, takes the place of the verbs' own",
        arguments: ["client", "rule", "other rule", "rules of the session", "none"])
    func accept(from place: String) async throws {
        let type = "application/vnd.example+json"
        try await with { client, _ in
            var client = client
            switch place {
            case "client": client.headers["accept"] = type
            case "rule": try client.rules.configure("**", description: "version") { $0.headers["ACCEPT"] = type }
            case "rules of the session":
                var rules = RequestRules(base: client.baseURL)
                try rules.configure("**", description: "kind") { $0.headers["X-Kind"] = "1" }
                client = try APIClient(base: client.baseURL, session: client.session.adding(interceptors: [rules]))
                try client.rules.configure("**", description: "version") { $0.headers["Accept"] = type }
            case "other rule": try client.rules.configure("**", description: "other") { $0.headers["X-Other"] = "1" }
            default: break
            }
            let isSet = place != "other rule" && place != "none"
            #expect(try await client.get("items", as: Received.self).headers["accept"] == (isSet ? type : "application/json"))
            let posted = try await client.post("items", parameters: Item(id: 7, name: "cat"), as: Received.self)
            #expect(posted.headers["accept"] == (isSet ? type : "application/json"))
        }
    }

    @Test("Each verb sends its method to its path, with parameters in JSON, and decodes the result")
    func verbs() async throws {
        try await with { client, _ in
            let item = Item(id: 7, name: "cat")
            let got = try await client.get("items", query: ["x": ["a", "b"]], as: Received.self)
            #expect(got.method == "GET" && got.target == "/v1/items?x%5B0%5D=a&x%5B1%5D=b" && got.body.isEmpty)
            #expect(got.headers["accept"] == "application/json" && got.headers["content-type"] == nil)
            let deleted: Received = try await client.delete("/items/7")
            #expect(deleted.method == "DELETE" && deleted.target == "/v1/items/7")
            for (method, received) in [
                ("POST", try await client.post("items", parameters: item, as: Received.self)),
                ("PUT", try await client.put("items", parameters: item, as: Received.self)),
                ("PATCH", try await client.patch("items", parameters: item, as: Received.self)),
            ] {
                #expect(received.method == method && received.headers["content-type"] == "application/json")
                #expect(try JSONDecoder().decode(Item.self, from: Data(received.body.utf8)) == item)
            }
            let form = MultipartBody([FormPart(name: "a", content: .text("b"))])
            let posted = try await client.post("items", body: form, as: Received.self)
            #expect(
                posted.headers["content-type"]?.hasPrefix("multipart/form-data; boundary=") == true && posted.body.contains("name=\"a\""))
            let replaced = try await client.put("items", query: ["q": 1], body: nil, as: Received.self)
            #expect(replaced.target == "/v1/items?q=1" && replaced.body.isEmpty)
            let patched = try await client.patch("items", body: FormBody(["a": "b c"]), as: Received.self)
            #expect(patched.body == "a=b+c")
        }
    }

    @Test("Parameters go where the client puts them")
    func encodings() async throws {
        try await with { client, _ in
            var client = client
            client.parameterEncoding = .form
            let form = try await client.post("items", parameters: Item(id: 7, name: "a b"), as: Received.self)
            #expect(form.body == "id=7&name=a+b" && form.headers["content-type"] == "application/x-www-form-urlencoded")
            let lists = ["ids": ["a b", "c"]]
            #expect(try await client.post("items", parameters: lists, as: Received.self).body == "ids=a+b&ids=c")
            client.formFormat = QueryFormat(arrays: .bracketed)
            #expect(try await client.post("items", parameters: lists, as: Received.self).body == "ids%5B%5D=a%20b&ids%5B%5D=c")
            client.parameterEncoding = .query
            client.queryFormat.space = .plus
            let query = try await client.post("items", parameters: Item(id: 7, name: "a b"), as: Received.self)
            #expect(query.target == "/v1/items?id=7&name=a+b" && query.body.isEmpty)
        }
    }

    private struct Tag: RequestInterceptor {
        let name: String

        func adapt(_ request: URLRequest) async throws -> URLRequest {
            var request = request
            request.setValue((request.value(forHTTPHeaderField: "X-Tags") ?? "") + name, forHTTPHeaderField: "X-Tags")
            return request
        }
    }

    @Test("Copies share the session but not their settings, and interceptors run after those of the session")
    func copies() async throws {
        try await with { client, _ in
            var configuration = ApproovSessionConfiguration()
            configuration.interceptors = [Tag(name: "s")]
            let client = try APIClient(base: client.baseURL, session: try ApproovSession(service: nil, configuration: configuration))
            var one = client
            one.headers["X-Own"] = "1"
            one.interceptors = [Tag(name: "1")]
            var two = one
            two.interceptors.append(Tag(name: "2"))
            two.headers["X-Own"] = "2"
            two.validators = [EnvelopeValidator(statusField: "body")]
            #expect(one.session === client.session && two.session === client.session)
            for (client, tags, own) in [(client, "s", nil), (one, "s1", "1")] as [(APIClient, String, String?)] {
                let received = try await client.get("x", as: Received.self)
                #expect(received.headers["x-tags"] == tags && received.headers["x-own"] == own)
            }
            // The answer repeats the body, which the validator takes for a status.
            _ = try await one.post("x", body: FormBody(["failed": nil]), as: Received.self)
            let refusal = await #expect(throws: ApproovError.self) {
                _ = try await two.post("x", body: FormBody(["failed": nil]), as: Received.self)
            }
            #expect(refusal?.code == .responseRefused && refusal?.refusedResponse?.head?.statusCode == 200)
        }
    }

    @Test("A copy with its own interceptors waits at the same gate as the original")
    func gate() async throws {
        let transport = InProcessTransport(status: 200)
        let gate = RequestGate(clock: ManualClock())
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.gate = gate
        let session = try ApproovSession(service: nil, configuration: configuration)
        let client = try APIClient(base: try #require(URL(string: "https://api.test")), session: session)
        var copy = client
        copy.interceptors = [Tag(name: "1")]
        gate.pause()
        let sent = [client, copy].map { client in Task { try await client.resource("x").send(.get).head.statusCode } }
        #expect(await eventually { gate.waitingCount == 2 })
        #expect(transport.requests.isEmpty)
        gate.resume()
        for task in sent { #expect(try await task.value == 200) }
        let tags = try #require(HTTPField.Name("X-Tags"))
        #expect(transport.requests.count == 2 && Set(transport.requests.map { $0.headerFields[tags] }) == [nil, "1"])
        #expect(gate.waitingCount == 0 && gate.outgoingCount == 0)
    }

    @Test("Copies share the cookies of their session")
    func cookies() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { request in
            let name = HTTPField.Name("Cookie")
            let seen = name.flatMap { request.headerFields[$0] } ?? ""
            return TestResponse(
                headerFields: [.setCookie: "user=cat; Path=/", .contentType: "application/json"], body: Array("[\"\(seen)\"]".utf8))
        }
        let base = try #require(URL(string: server.url))
        let session = try ApproovSession(wrapping: URLSession(configuration: .ephemeral), service: nil)
        var client = try APIClient(base: base, session: session)
        client.interceptors = [Tag(name: "1")]
        #expect(try await client.get("a", as: [String].self) == [""])
        client.interceptors = []
        #expect(try await client.get("b", as: [String].self) == ["user=cat"])
        await server.stop()
    }

    @Test("A status that was not asked for is an error with the response")
    func statuses() async throws {
        try await with { client, _ in
            let error = await failure { try await client.get("missing", as: Received.self) }
            #expect(error?.code == .unexpectedStatus && error?.response?.head.statusCode == 404 && error?.response?.data == Data("{}".utf8))
            var client = client
            client.statuses = 404..<405
            let missing = try await client.resource("missing").send(.get)
            #expect(missing.head.statusCode == 404)
            #expect(await failure { try await client.resource("items").send(.get) }?.code == .unexpectedStatus)
        }
    }

    @Test("A response that is larger than the client accepts ends with an error")
    func large() async throws {
        try await with { client, _ in
            var client = client
            client.maximumBytes = 10
            do {
                _ = try await client.get("items", as: Received.self)
                Issue.record("the response was accepted")
            } catch let error as ApproovError {
                #expect(error.code == .responseTooLarge)
            }
        }
    }

    @Test("An interceptor that sets the token is refused, because the session does that")
    func tokenInterceptor() async throws {
        var client = try APIClient(
            base: try #require(URL(string: "https://api.example.com")), session: try ApproovSession(service: nil))
        client.interceptors = [try ApproovInterceptor(service: World().service)]
        do {
            _ = try await client.get("x", as: Received.self)
            Issue.record("the interceptor was accepted")
        } catch let error as ApproovError {
            #expect(error.code == .initializationError)
        }
    }
}
