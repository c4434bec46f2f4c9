import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

// Acceptance list: S2.112, S3.31, S4.30
@Suite struct SessionObserverTests {
    /// Has a request sent again once.
    struct Once: RequestInterceptor {
        func retry(_ request: URLRequest, after outcome: RequestOutcome, attempt: Int) async -> RetryDecision {
            attempt == 1 ? .retry : .doNotRetry
        }
    }

    @Test("An observer sees request, response and end of a call, with sizes, names and whether it is attested")
    func call() async throws {
        let world = try World()
        world.api.value = { request in
            TransportResponse(
                status: 201, headerFields: [.contentLength: "4", .contentType: "text/plain"], version: "HTTP/2", url: request.url,
                body: ResponseBody(bytes: [1, 2, 3, 4]))
        }
        let observer = RecordingObserver()
        let session = try world.configured { $0.observers = [observer] }
        let request = URLRequest("https://API.test/items/7?q=a%20b&page=2#part", method: "POST", ["X-Own": "x"], body: "hello")
        _ = try await session.data(for: request)
        #expect(await observer.calls(1))
        #expect(observer.events.value == ["send 1.0", "receive 201", "finish"])
        let sent = try #require(observer.requests.value.first)
        #expect(sent.call == 1 && sent.method == "POST" && sent.scheme == "https" && sent.host == "api.test" && sent.port == 443)
        #expect(sent.path == "/items/7" && sent.queryNames == ["q", "page"])
        #expect(Set(sent.headerNames) == ["x-own", "accept", "approov-token", "approov-traceid"])
        #expect(sent.bodySize == 5 && sent.isAttested && !sent.isOblivious)
        let response = try #require(observer.responses.value.first)
        #expect(response.status == 201 && response.version == "HTTP/2" && response.bodySize == 4)
        #expect(response.headerNames == ["content-length", "content-type"])
        let metrics = try #require(observer.finished.value.first)
        #expect(metrics.request == sent && metrics.response == response && metrics.attempts == 1 && metrics.receivedBytes == 4)
        #expect(metrics.timings == nil)
    }

    @Test("An observer that does not want the heads gets the ends alone, with the same content")
    func endsAlone() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/a" else { throw TransportError(.connectionFailed, "no way") }
            return TransportResponse(status: 200, url: request.url)
        }
        let (all, ends) = (RecordingObserver(), RecordingObserver(wantsHeads: false))
        let session = try world.configured { $0.observers = [all, ends] }
        _ = try await session.data(for: URLRequest("https://api.test/a"))
        _ = try? await session.data(for: URLRequest("https://api.test/b"))
        #expect(await all.calls(2))
        #expect(await ends.calls(2))
        #expect(ends.events.value == ["finish", "fail"])
        #expect(ends.finished.value == all.finished.value && ends.failures.value.first?.request == all.requests.value.last)
    }

    @Test("Redirects, retries and a renewal of the token are requests of the same call, and the next call has the next number")
    func numbers() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/a" else { return TransportResponse(status: 503, url: request.url) }
            return TransportResponse(status: 302, headerFields: [.location: "/b"], url: request.url)
        }
        let observer = RecordingObserver()
        let session = try world.configured {
            $0.observers = [observer]
            $0.interceptors = [Once()]
        }
        _ = try await session.data(for: URLRequest("https://api.test/a"))
        #expect(await observer.calls(1))
        #expect(
            observer.events.value == [
                "send 1.0", "receive 302", "send 1.1", "receive 503", "send 2.0", "receive 302", "send 2.1", "receive 503", "finish",
            ])
        #expect(observer.finished.value.first?.attempts == 2)
        _ = try await session.data(for: URLRequest("https://api.test/b"))
        #expect(await observer.calls(2))
        #expect(observer.requests.value.map(\.call) == [1, 1, 1, 1, 2, 2])
    }

    @Test("A summary prints its public properties, and nothing that is masked")
    func printing() async throws {
        let world = try World()
        let observer = RecordingObserver()
        let session = try world.configured {
            $0.observers = [observer]
            $0.maskedPaths = ["/reset/*"]
        }
        _ = try await session.data(for: URLRequest("https://api.test/reset/secret?code=secret", ["X-Secret": "secret"]))
        #expect(await observer.calls(1))
        let summary = try #require(observer.requests.value.first)
        #expect(
            Mirror(reflecting: summary).children.map(\.label) == [
                "call", "attempt", "redirect", "method", "scheme", "host", "port", "path", "queryNames", "headerNames", "shownHeaders",
                "bodySize", "isAttested", "isOblivious",
            ])
        var dumped = ""
        dump(summary, to: &dumped)
        for text in [String(reflecting: summary), "\(summary)", dumped] {
            #expect(text.contains("/reset/*") && text.contains("x-secret") && !text.lowercased().contains("parts"), "\(text)")
            #expect(!text.replacing("x-secret", with: "").contains("secret"), "\(text)")
        }
    }

    @Test("A failure says its code and whether the session tries again, and a failure before anything was sent has no request")
    func failures() async throws {
        let world = try World()
        world.api.value = { _ in throw TransportError(.connectionLost, "gone") }
        let observer = RecordingObserver()
        let session = try world.configured {
            $0.observers = [observer]
            $0.interceptors = [Once()]
        }
        _ = try? await session.data(for: URLRequest("https://api.test/a"))
        #expect(await observer.calls(1))
        #expect(observer.events.value == ["send 1.0", "fail, retry", "send 2.0", "fail"])
        #expect(observer.failures.value.map(\.code) == [.networkingError, .networkingError])
        #expect(observer.failures.value.map { $0.request?.path } == ["/a", "/a"])
        _ = try? await session.data(for: URLRequest("http://api.test/"))
        #expect(await observer.calls(2))
        let refused = try #require(observer.failures.value.last)
        #expect(refused.code == .pinningError && refused.request == nil && !refused.willRetry)
    }

    @Test("A refused response, a response over the limit and a download that cannot be read are failures")
    func endings() async throws {
        let world = try World()
        world.api.value = { TransportResponse(status: 404, url: $0.url, body: ResponseBody(bytes: [1, 2])) }
        let observer = RecordingObserver()
        let session = try world.configured { $0.observers = [observer] }
        _ = try? await session.data(for: URLRequest("https://api.test/"), limit: 1)
        #expect(await observer.calls(1))
        let strict = try world.configured {
            $0.observers = [observer]
            $0.validators = [.status(200..<300)]
        }
        _ = try? await strict.download(for: URLRequest("https://api.test/"))
        #expect(await observer.calls(2))
        #expect(observer.failures.value.map(\.code) == [.responseTooLarge, .responseRefused])
    }

    @Test("A call whose body is read part by part ends with the body, and fails when the reader drops it or it breaks off")
    func streams() async throws {
        let world = try World()
        world.api.value = { request in
            let parts = AsyncThrowingStream<[UInt8], any Error> { continuation in
                continuation.yield([1, 2, 3])
                continuation.finish(throwing: request.url.target == "/broken" ? TransportError(.connectionLost, "gone") : nil)
            }
            return TransportResponse(status: 200, url: request.url, body: ResponseBody(parts))
        }
        let observer = RecordingObserver()
        let session = try world.configured { $0.observers = [observer] }
        let (whole, _) = try await session.bytes(for: URLRequest("https://api.test/"))
        for try await _ in whole.chunks {}
        #expect(await observer.calls(1))
        #expect(observer.finished.value.first?.receivedBytes == 3)
        let (broken, _) = try await session.bytes(for: URLRequest("https://api.test/broken"))
        _ = try? await broken.chunks.reduce(0) { $0 + $1.count }
        #expect(await observer.calls(2))
        #expect(observer.failures.value.last?.code == .networkingError)
        _ = try await session.bytes(for: URLRequest("https://api.test/")).1
        #expect(await observer.calls(3))
        #expect(observer.failures.value.count == 2 && observer.failures.value.last?.code == nil)
        let (file, _) = try await session.download(for: URLRequest("https://api.test/"))
        try? FileManager.default.removeItem(at: file)
        #expect(await observer.calls(4))
        #expect(observer.finished.value.last?.receivedBytes == 3)
    }

    @Test("The text of a failure is one line, whatever the app's own error says, and has no cause")
    func forged() async throws {
        struct Failing: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                throw ApproovError(.permanentError, "a\r\nforged: \u{1b}[0m", cause: ApproovError(.badRequest, "cause"))
            }
        }
        let observer = RecordingObserver()
        let session = try World().configured {
            $0.observers = [observer]
            $0.interceptors = [Failing()]
        }
        _ = try? await session.data(for: URLRequest("https://api.test/"))
        #expect(await observer.calls(1))
        #expect(observer.failures.value.map(\.message) == ["a\\u{d}\\u{a}forged: \\u{1b}[0m"])
    }

    @Test("A cancelled call fails without a code")
    func cancelled() async throws {
        let world = try World()
        world.api.value = { _ in try await waitForCancellation() }
        let observer = RecordingObserver()
        let session = try world.configured { $0.observers = [observer] }
        let task = Task { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(await eventually { !observer.requests.value.isEmpty })
        task.cancel()
        _ = await task.result
        #expect(await observer.calls(1))
        #expect(observer.failures.value.map(\.code) == [nil])
    }

    @Test("No summary contains a value of the query, of a header field or of a body, nor a token")
    func noValues() async throws {
        let world = try World()
        world.api.value = { request in
            TransportResponse(
                status: 200, headerFields: [.setCookie: "sid=secret-1", .location: "/secret-2", .eTag: "secret-3"], url: request.url,
                body: ResponseBody(bytes: Array("secret-4".utf8)))
        }
        let observer = RecordingObserver(shownHeaders: [
            "Authorization", "Set-Cookie", "Location", "Approov-Token", "X-Api-Key", "X-Bound", "Cookie", "Content-Type", "Placed",
            "X-Session-ID",
        ])
        let session = try world.configured {
            $0.observers = [observer]
            $0.bindHeader = "X-Bound"
            $0.maskedPaths = ["/reset/*"]
            $0.substitutions = [try Substitution(hosts: ["api.test"], headers: ["Placed": ""])]
        }
        let headers = [
            "Authorization": "Bearer secret-5", "X-Api-Key": "secret-6", "X-Bound": "secret-7", "Cookie": "a=secret-8",
            "Content-Type": "text/plain", "Placed": "secret-9", "X-Session-ID": "secret-10",
        ]
        let url = "https://api.test/reset/secret-11?code=secret-12&secret-13&=secret-14"
        _ = try await session.data(for: URLRequest(url, method: "POST", headers, body: "secret-15"))
        #expect(await observer.calls(1))
        let sent = try #require(observer.requests.value.first)
        #expect(sent.path == "/reset/*" && sent.queryNames == ["code", "*", ""])
        #expect(sent.shownHeaders == ["content-type": "text/plain"])
        let token = try #require(world.apiRequests.first?.headerFields[.approovToken])
        for event in observer.requests.value.map({ String(reflecting: $0) }) + observer.responses.value.map({ String(reflecting: $0) })
            + observer.finished.value.map({ String(reflecting: $0) })
        {
            #expect(!event.contains("secret") && !event.contains(token))
        }
    }

    @Test("An observer that blocks delays no call, and learns how many events it lost")
    func blocking() async throws {
        struct Blocking: SessionObserver {
            let gate = DispatchSemaphore(value: 0)
            let recording = RecordingObserver()
            func willSend(_ request: RequestSummary) {
                if request.call == 1 { gate.wait() }
                recording.willSend(request)
            }
            func didFinish(_ metrics: CallMetrics) { recording.didFinish(metrics) }
            func didDrop(_ count: Int) { recording.didDrop(count) }
        }
        let world = try World()
        let (blocking, other) = (Blocking(), RecordingObserver())
        let session = try world.configured { $0.observers = [blocking, other] }
        for _ in 0..<500 { _ = try await session.data(for: URLRequest("https://api.test/")) }
        // The other observer is not delayed, either: it may lose events to a busy machine, but not the first.
        #expect(await eventually { !other.finished.value.isEmpty })
        #expect(blocking.recording.requests.value.isEmpty)
        blocking.gate.signal()
        #expect(await eventually { !blocking.recording.dropped.value.isEmpty })
        let recording = blocking.recording
        #expect(await eventually { recording.dropped.value.reduce(0, +) >= 1_500 - ObserverQueueState.limit - 1 })
        #expect(recording.requests.value.map(\.call).prefix(3) == [1, 2, 3])
    }

    @Test("Observers that want no timings keep the transport from measuring")
    func timings() async throws {
        let world = try World()
        for wanted in [true, false] {
            let observer = RecordingObserver(wantsTimings: wanted)
            _ = try await world.configured { $0.observers = [observer] }.data(for: URLRequest("https://api.test/"))
            #expect((world.apiRequests.last?.options.onTimings != nil) == wanted)
        }
        _ = try await world.session().data(for: URLRequest("https://api.test/"))
        #expect(world.apiRequests.last?.options.onTimings == nil)
    }

    @Test("The header of a credential is never shown, whatever its name is, also in a session that gets the interceptor later")
    func credentials() async throws {
        struct Declaring: RequestInterceptor {
            let secretHeaders: Set<String> = ["X-Visitor"]
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.setValue("hidden-visitor", forHTTPHeaderField: "x-visitor")
                request.setValue("open", forHTTPHeaderField: "X-Open")
                return request
            }
        }
        let world = try World()
        world.api.value = { request in
            // A server that repeats what it got.
            TransportResponse(status: 200, headerFields: request.headerFields, url: request.url)
        }
        let source = CountingSource()
        let observer = RecordingObserver(shownHeaders: ["X-User", "X-VISITOR", "X-Person", "X-Open"])
        let holder = try CredentialHolder("hidden-person")
        let hosts = [try HostPattern("api.test")]
        let base = try world.configured {
            $0.observers = [observer]
            $0.credential = .header("X-Person", holder, for: hosts)
            $0.interceptors = [try AuthenticatedRequests(source: source, hosts: hosts, header: "X-User")]
        }
        let session = try base.adding(interceptors: [Declaring()])
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(await observer.calls(1))
        #expect(world.apiRequests.last?.headerFields[HTTPField.Name("X-User")!] == "Bearer t0")
        #expect(observer.requests.value.map(\.shownHeaders) == [["x-open": "open"]])
        #expect(observer.responses.value.map(\.shownHeaders) == [["x-open": "open"]])
        #expect(observer.requests.value.first?.headerNames.contains("x-user") == true)
    }
}
