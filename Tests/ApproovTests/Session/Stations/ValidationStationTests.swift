import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S3.8, S3.9, S3.37
@Suite struct ValidationStationTests {
    /// Notes the size of the body that it sees; -1 for none.
    struct Noting: ResponseValidating {
        let sizes = Shared<[Int]>([])
        func validate(_ response: HTTPURLResponse, body: Data?) throws { sizes.change { $0.append(body?.count ?? -1) } }
    }

    /// Throws the given error.
    struct Throwing: ResponseValidating {
        let error: any Error
        func validate(_ response: HTTPURLResponse, body: Data?) throws { throw error }
    }

    private func world(_ status: Int, _ body: [UInt8], _ fields: HTTPFields = [.contentType: "application/json"]) throws -> World {
        let world = try World()
        world.api.value = { TransportResponse(status: status, headerFields: fields, url: $0.url, body: ResponseBody(bytes: body)) }
        return world
    }

    private func error(_ body: () async throws -> some Any) async -> ApproovError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? ApproovError
        }
    }

    @Test("A response of status 200 whose body says that the request failed is an error with head, body, code and message")
    func envelope() async throws {
        let body = Array(#"{"status": false, "code": 500, "message": "sold out"}"#.utf8)
        let world = try world(200, body)
        let session = try world.configured { $0.validators = [.status(200..<300), .mediaType("application/json"), EnvelopeValidator()] }
        let request = URLRequest("https://api.test/", method: "POST", body: "x")
        for call in [{ try await session.data(for: request) }, { try await session.upload(for: request, from: Data("y".utf8)) }] {
            let refused = try #require(await error(call))
            #expect(refused.code == .responseRefused && !refused.isRetryable)
            #expect(refused.serverCode == "500" && refused.serverMessage == "sold out")
            #expect(refused.refusedResponse?.head?.statusCode == 200)
            #expect(refused.refusedResponse?.body == Data(body))
        }
        #expect(world.apiRequests.count == 2)
    }

    @Test("An accepted response reaches the caller whole")
    func accepted() async throws {
        let world = try world(200, [UInt8](repeating: 7, count: 3 << 20))
        let noting = Noting()
        let session = try world.configured { $0.validators = [.status(200..<300), noting] }
        #expect(try await session.data(for: URLRequest("https://api.test/")).0.count == 3 << 20)
        // A body of more than 1 MiB is not looked at.
        #expect(noting.sizes.value == [-1])
    }

    @Test("Validators see a body up to 1 MiB, and none that the caller reads part by part")
    func bodies() async throws {
        let noting = Noting()
        for size in [0, 1, 1 << 20, 1 << 20 + 1] {
            let world = try world(200, [UInt8](repeating: 7, count: size))
            _ = try await world.configured { $0.validators = [noting] }.data(for: URLRequest("https://api.test/"))
        }
        #expect(noting.sizes.value == [0, 1, 1 << 20, -1])
        let session = try world(200, [1, 2]).configured { $0.validators = [noting] }
        let (bytes, _) = try await session.bytes(for: URLRequest("https://api.test/"))
        var read = 0
        for try await _ in bytes { read += 1 }
        let (file, _) = try await session.download(for: URLRequest("https://api.test/"))
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try Data(contentsOf: file) == Data([1, 2]) && read == 2)
        #expect(noting.sizes.value.suffix(2) == [-1, -1])
    }

    @Test("A refused download leaves no file, and a refused stream gives no bytes")
    func streams() async throws {
        let session = try world(404, [1]).configured { $0.validators = [.status(200..<300)] }
        let request = URLRequest("https://api.test/")
        let refused = try #require(await error { try await session.download(for: request) })
        #expect(refused.code == .responseRefused && refused.refusedResponse?.head?.statusCode == 404)
        #expect(refused.refusedResponse?.body == nil)
        #expect(await error { try await session.bytes(for: request) }?.code == .responseRefused)
    }

    @Test("The validators come before the retriers, which see the refusal and may have the request sent again")
    func retriers() async throws {
        struct Renewing: RequestInterceptor {
            let seen: Shared<[String?]>
            func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
                guard case .failure(let error as ApproovError) = outcome, error.code == .responseRefused else { return .doNotRetry }
                seen.change { $0.append(error.serverCode) }
                return .retry
            }
        }
        let world = try World()
        let count = Shared(0)
        world.api.value = { request in
            let isFirst = count.change {
                $0 += 1; return $0 == 1
            }
            let body = isFirst ? #"{"status": "false", "code": 401}"# : #"{"status": true}"#
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(bytes: Array(body.utf8)))
        }
        let seen = Shared<[String?]>([])
        let session = try world.configured {
            $0.interceptors = [Renewing(seen: seen)]
            $0.validators = [EnvelopeValidator()]
        }
        #expect(try await session.data(for: URLRequest("https://api.test/")).0 == Data(#"{"status": true}"#.utf8))
        #expect(seen.value == ["401"])
    }

    @Test("Redirects are followed before a validator sees a response")
    func redirects() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/" else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(status: 302, headerFields: [.location: "/b"], url: request.url)
        }
        let session = try world.configured { $0.validators = [.status(200..<300)] }
        #expect(try await session.data(for: URLRequest("https://api.test/")).1.statusCode == 200)
    }

    @Test("Any error of a validator refuses the response, and a cancellation stays one")
    func errors() async throws {
        let world = try world(200, [1])
        let request = URLRequest("https://api.test/")
        for thrown in [CocoaError(.coderInvalidValue), ApproovError(.permanentError, "x")] as [any Error] {
            let session = try world.configured { $0.validators = [Throwing(error: thrown)] }
            let refused = try #require(await error { try await session.data(for: request) })
            #expect(refused.code == .responseRefused && refused.cause != nil && refused.refusedResponse?.body == Data([1]))
        }
        let session = try world.configured { $0.validators = [Throwing(error: CancellationError())] }
        await #expect(throws: CancellationError.self) { try await session.data(for: request) }
    }

    @Test("A body over the caller's limit, or that breaks off, keeps its own error")
    func transfer() async throws {
        let session = try world(200, [1, 2, 3]).configured { $0.validators = [.status(200..<300)] }
        #expect(await error { try await session.data(for: URLRequest("https://api.test/"), limit: 2) }?.code == .responseTooLarge)
        let world = try World()
        world.api.value = { request in
            let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield([1])
                continuation.finish(throwing: TransportError(.connectionLost, "gone"))
            }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        let broken = try world.configured { $0.validators = [.status(200..<300)] }
        let lost = try #require(await error { try await broken.data(for: URLRequest("https://api.test/")) })
        #expect(lost.code == .networkingError && lost.isRetryable)
        let post = try #require(await error { try await broken.data(for: URLRequest("https://api.test/", method: "POST", body: "x")) })
        #expect(post.code == .networkingError && !post.isRetryable)
    }

    @Test("Responses that the wrapped session gives are validated, too")
    func wrapped() async throws {
        let session = try World().configured { $0.validators = [.status(500..<600)] }
        let url = try #require(URL(string: "data:text/plain,hello"))
        #expect(await error { try await session.data(from: url) }?.code == .responseRefused)
        let noting = Noting()
        let watched = try World().configured { $0.validators = [noting] }
        for size in [5, 1 << 20 + 1] {
            let url = try #require(URL(string: "data:text/plain,\(String(repeating: "a", count: size))"))
            _ = try await watched.data(from: url)
        }
        _ = try await watched.bytes(from: url)
        #expect(noting.sizes.value == [5, -1, -1])
    }
}
