import APIClient
import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

/// A source whose first credential is "a", and "b" from its renewal on.
private struct RenewedSource: CredentialSource {
    let renewals = Shared(0)

    func credential() async throws -> Credential { try Credential.bearer(renewals.value == 0 ? "a" : "b") }

    func renew(after refused: Credential) async throws -> Credential? {
        renewals.change { $0 += 1 }
        return try await credential()
    }
}

extension NameUse {
    static let ckNetworking: [NameUse] = [
        NameUse("NetworkingClient(baseURL:)") { (world) async throws in
            world.answer("[]")
            var client: APIClient = try client(world)
            client.timeout = .seconds(15)
            client.parameterEncoding = .form
            #expect(client.baseURL.absoluteString == "https://api.test/")
            _ = try await client.post("items", parameters: ["name": "Tom"], as: [String].self)
            let request = try #require(world.apiRequests.first)
            #expect(request.url.text == "https://api.test/items" && request.options.idleTimeout == .seconds(15))
            #expect(request.headerFields[.contentType] == "application/x-www-form-urlencoded")
            #expect(try await text(of: request) == "name=Tom")
        },
        NameUse("verbs get, post, put, patch, delete") { (world) async throws in
            world.answer("[]")
            let client = try client(world)
            _ = try await client.get("items", query: ["page": 1], as: [String].self)
            _ = try await client.post("items", parameters: ["a": 1], as: [String].self)
            _ = try await client.put("items", parameters: ["a": 1], as: [String].self)
            _ = try await client.patch("items", parameters: ["a": 1], as: [String].self)
            _ = try await client.delete("items", query: ["page": 1], as: [String].self)
            try await client.delete("items")
            #expect(world.apiRequests.map(\.method) == [.get, .post, .put, .patch, .delete, .delete])
        },
        NameUse("upload and download progress") { (_) async throws in
            let size = 100_000
            let server = try await TestHTTPServer.start(certificate: nil) { request in
                let content = try await request.body.collect()
                return TestResponse(body: request.method == .get ? [UInt8](repeating: 1, count: 2 * size) : content)
            }
            let folder = try TemporaryFolder()
            let file = URL(filePath: try folder.write([UInt8](repeating: 2, count: size), to: "file"))
            let client = try APIClient(base: url(server.url), session: ApproovSession(service: nil))
            let resource: Resource = try client.resource("items")
            let (sent, received) = (Shared(0), Shared(0))
            let body = try RawBody(file: file, contentType: "text/plain")
            let answer = try await resource.send(.put, query: nil, body: body, headers: [:], onProgress: { sent.value = $0.completed })
            #expect(sent.value == size)
            #expect(answer.data == Data(repeating: 2, count: size))
            let (copy, _) = try await resource.download(query: nil, headers: [:], onProgress: { received.value = $0.completed })
            defer { try? FileManager.default.removeItem(at: copy) }
            #expect(received.value == 2 * size)
            #expect(try Data(contentsOf: copy) == Data(repeating: 1, count: 2 * size))
            await server.stop()
        },
        NameUse("AuthenticationCredential.task, .bearer(token:), getUserToken") { (world) async throws in
            let renewed = RenewedSource()
            let source: any CredentialSource = renewed
            let second = try Credential.bearer("b").headerValue
            world.api.value = { request in
                TransportResponse(status: request.headerFields[.authorization] == second ? 200 : 401, url: request.url)
            }
            let requests = try AuthenticatedRequests(source: source, hosts: [HostPattern("api.test")])
            let session = try session(world) { $0.interceptors = [requests] }
            // The session calls renew(after:) once.
            for _ in 1...2 { #expect(try await session.data(from: url).1.statusCode == 200) }
            #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer a", second, second])
            #expect(renewed.renewals.value == 1)
        },
        NameUse(".login(String, password:)") { (_) async throws in
            #expect(try Credential.basic(user: "alice", password: "p").headerValue == "Basic YWxpY2U6cA==")
        },
        NameUse("logLevels") { (world) async throws in
            let levels: [ConsoleLog.Level] = [.off, .info, .debug]
            let records = levels.map { _ in LogRecord() }
            let session = try session(world) { settings in
                settings.observers = zip(levels, records).map { ConsoleLog(level: $0, logger: $1.logger) }
            }
            _ = try await session.data(from: url)
            var words: [[String]] = []
            for record in records.reversed() {
                let lines = words.count < 2 ? await record.lines(with: "finished") : record.lines
                words.insert(lines.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }, at: 0)
            }
            #expect(words == [[], ["info finished"], ["debug request", "debug response", "info finished"]])
        },
        NameUse("perRequestHeaders, additionalHeaders") { (world) async throws in
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in
                settings.perRequestHeaders = PerRequestHeaders(.perCall) { _ in ["Transaction-Id": UUID().uuidString] }
            }
            _ = try await session.data(from: url)
            #expect(world.apiRequests.first?.headerFields.contains { $0.name.canonicalName == "transaction-id" } == true)
        },
        NameUse("responseValidator, validate(response:data:)") { (world) async throws in
            let validator: any ResponseValidating = EnvelopeValidator(statusField: "ok", codeField: "code", messageField: "text")
            let head = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
            #expect(throws: ApproovError.self) { try validator.validate(head, body: Data(#"{"ok":false}"#.utf8)) }
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in settings.validators = [validator] }
            world.answer(#"{"ok":true}"#)
            #expect(try await session.data(from: url).1.statusCode == 200)
            world.answer(#"{"ok":false}"#)
            await #expect(throws: ApproovError(.responseRefused, "")) { try await session.data(from: url) }
            world.answer("a")
            var client: APIClient = try client(world)
            client.transformResponse = { response in APIResponse(data: response.data + Data("b".utf8), head: response.head) }
            #expect(try await client.resource("items").send(.get).data == Data("ab".utf8))
        },
        NameUse("header fields success, status, message") { (_) async throws in
            let validator = HeaderValidator(success: "X-Success", status: "X-Status", message: "X-Message")
            let head = try #require(
                HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["X-Success": "false"]))
            #expect(throws: ApproovError.self) { try validator.validate(head, body: nil) }
        },
        NameUse("NetworkingError(code:message:), jsonPayload") { (world) async throws in
            world.answer(#"{"status":false,"code":500,"message":"no"}"#)
            let session = try session(world) { $0.validators = [EnvelopeValidator()] }
            let error: ApproovError? = await #expect(throws: ApproovError.self) { try await session.data(from: url) }
            #expect(
                error?.serverCode == "500" && error?.serverMessage == "no"
                    && (error?.refusedResponse as RefusedResponse?)?.body?.isEmpty == false)
        },
    ]
}
