import APIClient
import Approov
import ApproovTesting
import Dispatch
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Synchronization
import Testing

/// Runs an actor's code, and knows whether that code runs now.
private final class Executor: SerialExecutor {
    private let queue = DispatchQueue(label: "caller")
    private let thread = Mutex<pthread_t?>(nil)

    var isCurrent: Bool { thread.withLock { $0 == pthread_self() } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            self.thread.withLock { $0 = pthread_self() }
            job.runSynchronously(on: self.asUnownedSerialExecutor())
            self.thread.withLock { $0 = nil }
        }
    }
}

private actor Caller {
    private let executor = Executor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run(_ work: nonisolated(nonsending) @Sendable (Executor) async throws -> Void) async throws {
        #expect(executor.isCurrent)
        try await work(executor)
    }
}

// Acceptance list: S1.16, S1.22, S2.33, S2.112, S3.38
@Suite struct ResourceTests {
    private func resource(_ path: String = "items/7") throws -> Resource {
        let base = try #require(URL(string: "https://api.example.com/v1/"))
        return try APIClient(base: base, session: try ApproovSession(service: nil)).resource(path)
    }

    @Test("A rule that looks at the query decides about the statuses of a request whose query is a parameter")
    func statusesByQuery() async throws {
        let transport = InProcessTransport(status: 404, headerFields: [.contentType: "application/json"], body: Array("[]".utf8))
        let base = try #require(URL(string: "https://api.example.com/v1/"))
        let client = try APIClient(base: base, session: ApproovSession(service: nil, configuration: .over(transport))).configured {
            try $0.configure(description: "searches", where: { $0.query() != nil }) { $0.statuses = 404..<405 }
        }
        let resource = try client.resource("items")
        #expect(try await resource.send(.get, query: ["q": "x"]).head.statusCode == 404)
        #expect(try await resource.cachedData(query: ["q": "x"]).head.statusCode == 404)
        #expect(try await client.get("items", query: ["q": "x"], as: [Int].self) == [])
        #expect(await failure { try await resource.send(.get) }?.code == .unexpectedStatus)
        #expect(await failure { try await resource.cachedData() }?.code == .unexpectedStatus)
        #expect(await failure { try await client.get("items", as: [Int].self) }?.code == .unexpectedStatus)
    }

    @Test("A client changes each response before it is judged and decoded; its validators and its cache have the response as it came")
    func transformed() async throws {
        struct SeesWrapping: ResponseValidating {
            func validate(_ response: HTTPURLResponse, body: Data?) throws {
                #expect(body.map { String(decoding: $0, as: UTF8.self) } == #"{"status":200,"result":[1]}"#)
            }
        }
        struct Wrapping: Decodable {
            let status: Int
            let result: [Int]
        }
        let transport = InProcessTransport(
            status: 500, headerFields: [.contentType: "application/json", .cacheControl: "max-age=60"],
            body: Array(#"{"status":200,"result":[1]}"#.utf8))
        let base = try #require(URL(string: "https://api.example.com/v1/"))
        var client = try APIClient(base: base, session: ApproovSession(service: nil, configuration: .over(transport)))
        client.validators = [SeesWrapping()]
        #expect(await failure { try await client.get("items", as: [Int].self) }?.code == .unexpectedStatus)
        client.transformResponse = { response in
            let wrapping = try JSONDecoder().decode(Wrapping.self, from: response.data)
            let url = try #require(response.head.url)
            let fields = ["Content-Type": response.head.value(forHTTPHeaderField: "Content-Type") ?? ""]
            let head = HTTPURLResponse(url: url, statusCode: wrapping.status, httpVersion: nil, headerFields: fields)
            return APIResponse(data: try JSONEncoder().encode(wrapping.result), head: try #require(head))
        }
        client.cache = DataCache()
        let resource = try client.resource("items")
        #expect(try await client.get("items", as: [Int].self) == [1])
        #expect(try await resource.send(.get).data == Data("[1]".utf8))
        #expect(try await resource.cachedData().data == Data("[1]".utf8))
        client.transformResponse = { response in
            if response.head.statusCode == 500 { throw APIError(.malformedResponse, "the answer is refused") }
            return response
        }
        let refusing = try client.resource("items")
        #expect(await failure { try await refusing.send(.get) }?.code == .malformedResponse)
        #expect(await failure { try await refusing.cachedData() }?.code == .malformedResponse)
    }

    @Test("A response is judged on the caller's actor, so that nothing comes between the last check for a wipe and the caller's code")
    func callersActor() async throws {
        try await Caller().run { try await judgesResponses(on: $0) }
    }

    /// Checks that a client judges its responses on the caller's actor.
    nonisolated(nonsending) private func judgesResponses(on executor: Executor) async throws {
        struct IsOnActor: ResponseDeserializer {
            let executor: Executor
            func value(of response: APIResponse) throws -> Bool { executor.isCurrent }
        }
        let transport = InProcessTransport { request in
            // Suspends, so that the response does not come on the caller's thread by chance.
            await Task.detached { await Task.yield() }.value
            return TransportResponse(status: 200, url: request.url)
        }
        let runs = Shared<[Bool]>([])
        let base = try #require(URL(string: "https://api.example.com/v1/"))
        var client = try APIClient(base: base, session: ApproovSession(service: nil, configuration: .over(transport))).configured {
            try $0.configure("**", description: "all") { _ in runs.change { $0.append(executor.isCurrent) } }
        }
        #expect(try await client.resource("items").send(.get, with: IsOnActor(executor: executor)))
        client.cache = DataCache()
        _ = try await client.cachedData(for: "items")
        // The rules run last for the statuses of the response.
        #expect(runs.value.last == true)
    }

    @Test("A child is one segment, whatever its text")
    func children() throws {
        for (segment, encoded) in [
            ("8", "8"), ("a/b", "a%2Fb"), ("..x/y", "..x%2Fy"), ("?x=1", "%3Fx%3D1"), ("#", "%23"), ("é \r\n", "%C3%A9%20%0D%0A"),
            ("%2e", "%252e"),
            ("a+b", "a%2Bb"), ("@evil:80", "%40evil%3A80"), ("...", "..."),
        ] {
            #expect(try resource("items?x=1").child(segment).url.absoluteString == "https://api.example.com/v1/items/" + encoded)
        }
        for segment in ["", ".", "..", "../x", "a/../x", "..\\x", "x\\..", "..;/x", "..;a"] {
            #expect(code { try resource().child(segment) } == .invalidURL)
        }
    }

    @Test("A reference is resolved against the resource, within the base URL")
    func references() throws {
        for (reference, url) in [
            ("8", "items/8"), ("./8", "items/8"), ("../other", "other"), ("/v1/other", "other"), ("?page=2", "items/7?page=2"),
            ("https://api.example.com/v1/other", "other"), ("//api.example.com/v1/other", "other"), ("", "items/7"),
        ] {
            #expect(try resource().relative(reference).url.absoluteString == "https://api.example.com/v1/" + url, "\(reference)")
        }
    }

    @Test(
        "A reference that leads to another server or out of the base URL is refused",
        arguments: [
            "//evil.example.com/v1/items", "https://evil.example.com/v1/", "http://api.example.com/v1/items",
            "https://api.example.com:8443/v1/",
            "../../admin", "/admin", "/", "/v10/items", "%2e%2e/%2e%2e/admin", "..%2f..%2fadmin",
            "https://api.example.com@evil.example.com/v1/",
            "https://api.example.com.evil.example.com/v1/", "file:///etc/passwd",
        ])
    func escapes(reference: String) {
        #expect(code { try resource().relative(reference) } == .invalidURL)
    }
}
