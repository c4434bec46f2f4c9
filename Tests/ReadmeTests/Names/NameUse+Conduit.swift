import APIClient
import Approov
import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

/// Counts responses and finished requests, as Conduit's response middleware can.
private struct ResponseCounter: SessionObserver {
    let counts = Shared<[String]>([])

    func didReceive(_ response: ResponseSummary) { counts.change { $0.append("didReceive") } }
    func didFinish(_ metrics: CallMetrics) { counts.change { $0.append("didFinish") } }
}

/// Takes the content of a member for the whole, as a middleware that changes `TaskResponse` can.
private struct Unwrapping: ResponseDeserializer {
    func value(of response: APIResponse) throws -> APIResponse {
        let members = try JSONDecoder().decode([String: String].self, from: response.data)
        return APIResponse(data: Data((members["data"] ?? "").utf8), head: response.head)
    }
}

extension NameUse {
    static let conduit: [NameUse] = [
        NameUse("URLSessionClient") { (world) async throws in
            let first: APIClient = try client(world)
            var second = first
            second.headers["X-Copy"] = "1"
            #expect(first.headers.isEmpty && second.session === first.session)
        },
        NameUse("URLSessionClient(delegateQueue:)") { (world) async throws in
            let queue = OperationQueue()
            let session = try ApproovSession(
                wrapping: URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue), service: nil,
                configuration: .over(world.transport))
            let (calls, call) = AsyncStream.makeStream(of: Bool.self)
            session.dataTask(with: url, completionHandler: { _, _, _ in call.yield(OperationQueue.current === queue) }).resume()
            #expect(await calls.first { _ in true } == true)
        },
        NameUse("requestMiddleware, RequestPipelineMiddleware, prepareForTransport") { (world) async throws in
            var client: APIClient = try client(world)
            client.interceptors = [Decoration() as any RequestInterceptor]
            #expect(try await Decoration().adapt(URLRequest(url: url)).url == url)
            _ = try await client.resource("items").send(.get)
            #expect(world.apiRequests.first?.headerFields.contains { $0.name.canonicalName == "x-decorated" } == true)
        },
        NameUse("responseMiddleware, ResponsePipelineMiddleware, TaskResponse") { (world) async throws in
            let observer = ResponseCounter()
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in
                settings.observers = [observer as any SessionObserver]
            }
            _ = try await session.data(from: url)
            #expect(await eventually { observer.counts.value == ["didReceive", "didFinish"] })
        },
        NameUse("middleware that replaces TaskResponse.data, TaskResponse.response") { (world) async throws in
            world.answer(#"{"data":"inner"}"#)
            let deserializer: some ResponseDeserializer<APIResponse> = Unwrapping()
            #expect(try await client(world).resource("items").send(.get, with: deserializer).data == Data("inner".utf8))
            let head = try #require(HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: nil))
            let replaced: APIResponse = APIResponse(data: Data(#"{"data":"x"}"#.utf8), head: head)
            #expect(try deserializer.value(of: replaced).head.statusCode == 203)
            var client: APIClient = try client(world)
            client.transformResponse = { response in try deserializer.value(of: response) }
            #expect(try await client.resource("items").send(.get).data == Data("inner".utf8))
        },
        NameUse("begin(request:), SessionTaskProxy") { (world) async throws in
            let client: APIClient = try client(world)
            let session = try client.connectedSession()
            let resource: Resource = try client.resource("items")
            let (request, body) = try resource.request(.post, query: nil, body: JSONBody([1]), headers: [:])
            let (ends, end) = AsyncStream.makeStream(of: Bool.self)
            let begun: ApproovTask = session.uploadTask(
                with: request, body: body,
                completionHandler: { _, _, error in
                    end.yield(error != nil)
                })
            let task: ApproovTask = session.dataTask(
                with: URLRequest(url: url),
                completionHandler: { _, _, error in
                    end.yield(error != nil)
                })
            task.suspend()
            task.cancel()
            task.resume()
            var results = ends.makeAsyncIterator()
            #expect(await results.next() == true)
            begun.resume()
            #expect(await results.next() == false)
            #expect(world.apiRequests.map(\.method) == [.post])
            #expect(world.apiRequests.first?.headerFields[.contentType] == "application/json")
        },
        NameUse("pipelineBehaviorOptions, awaitsOutgoingCompletion") { (world) async throws in
            let gate: RequestGate = RequestGate(clock: world.clock)
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in settings.gate = gate }
            gate.pause(for: .seconds(10))
            let dropped = Task { try await session.data(from: url) }
            #expect(await eventually { gate.waitingCount == 1 })
            gate.empty(throwing: CocoaError(.userCancelled))
            await #expect(throws: ApproovError(.queueEmptied, "")) { try await dropped.value }
            let held = Task { try await session.data(from: url) }
            #expect(await eventually { gate.waitingCount == 1 })
            #expect(world.apiRequests.isEmpty)
            gate.resume()
            #expect(try await held.value.1.statusCode == 200)
            #expect(try await gate.barrier(waiting: .seconds(1), limit: .seconds(1)) { 7 } == 7)
        },
        NameUse("AutoPurgingURLDataCache, DataDownloader") { (world) async throws in
            var client: APIClient = try client(world)
            client.cache = DataCache(capacity: 1 << 20)
            let resource: Resource = try client.resource("items")
            // No header lets the cache keep the first two.
            for isKept in [false, false, false, true] {
                let data: CachedData = try await resource.cachedData()
                #expect(data.isFromCache == isKept)
                guard world.apiRequests.count == 2 else { continue }
                world.api.value = { TransportResponse(status: 200, headerFields: [.cacheControl: "max-age=60"], url: $0.url) }
            }
        },
        NameUse("ConduitLogger") { (world) async throws in
            let record = LogRecord()
            let log = ConsoleLog(level: .info, logger: record.logger)
            let session = try session(world) { (settings: inout ApproovSessionConfiguration) in settings.observers = [log] }
            _ = try await session.data(for: URLRequest("https://api.test/shapes?key=canary-1", ["Authorization": "Bearer canary-2"]))
            let lines = await record.lines(with: "finished")
            #expect(lines.count == 1 && lines[0].hasPrefix("info finished"))
            #expect(["api.test", "/shapes", "GET", "200"].allSatisfy { lines[0].contains($0) } && !lines[0].contains("canary"))
        },
    ]
}
