import Approov
import ApproovBase
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import APIClient

// Acceptance list: S1.3, S1.10, S2.115, S2.116
@Suite(.timeLimit(.minutes(5))) struct DataCacheTests {
    /// An API that counts its answers, and a cache on the same clock.
    private struct Setting: Sendable {
        let world: World
        let cache: DataCache
        let fields = Shared<HTTPFields>([.cacheControl: "max-age=60"])
        let answers = Shared(0)

        init(capacity: Int = 60 << 20) throws {
            world = try World(hosts: ["api.test": .pinned, "other.test": .pinned])
            cache = DataCache(capacity: capacity, clock: world.clock)
            let (fields, answers) = (fields, answers)
            world.api.value = { request in
                if request.url.target == "/moved" {
                    return TransportResponse(
                        status: 302, headerFields: [.location: "/", .cacheControl: "max-age=60"], url: request.url)
                }
                let number = answers.change {
                    $0 += 1; return $0
                }
                return TransportResponse(
                    status: request.url.target == "/missing" ? 404 : 200, headerFields: fields.value, url: request.url,
                    body: ResponseBody(bytes: Array("\(number)".utf8)))
            }
        }

        func session(
            wrapping: URLSessionConfiguration = .ephemeral, _ change: (inout ApproovSessionConfiguration) throws -> Void = { _ in }
        ) throws -> ApproovSession {
            var configuration = ApproovSessionConfiguration()
            try change(&configuration)
            return try ApproovSession(
                wrapping: URLSession(configuration: wrapping), service: world.service,
                trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
        }

        /// The text of a response, with a star if it came from the cache.
        func get(
            _ session: ApproovSession, _ url: String = "https://api.test/", _ headers: [String: String] = [:], limit: Int? = nil
        ) async throws -> String {
            let result = try await session.cachedData(for: URLRequest(url, headers), in: cache, limit: limit)
            return String(decoding: result.data, as: UTF8.self) + (result.isFromCache ? "*" : "")
        }
    }

    // MARK: What is kept

    @Test("Unless the app names another capacity, the cache has 60 MiB: it keeps a response of just under a quarter, and none of a quarter")
    func standardCapacity() async throws {
        let cache = DataCache()
        let quarter = 15 << 20
        for (size, isKept) in [(quarter - 4_096, true), (quarter, false)] {
            let transport = InProcessTransport { request in
                let body = ResponseBody(bytes: [UInt8](repeating: 1, count: size))
                return TransportResponse(status: 200, headerFields: [.cacheControl: "max-age=3600"], url: request.url, body: body)
            }
            let session = try ApproovSession(
                wrapping: URLSession(configuration: .ephemeral), service: nil, configuration: .over(transport))
            for isSecond in [false, true] {
                let result = try await session.cachedData(for: URLRequest("https://api.test/"), in: cache)
                #expect(result.data.count == size && result.isFromCache == (isSecond && isKept))
            }
        }
    }

    @Test("A fresh response comes from the cache, and a stale one from the server")
    func fresh() async throws {
        let setting = try Setting()
        let session = try setting.session()
        #expect(try await setting.get(session) == "1")
        setting.world.clock.advance(by: .seconds(59))
        #expect(try await setting.get(session) == "1*")
        #expect(try await setting.get(session, "https://API.test:443") == "1*")
        #expect(try await setting.get(session, "https://api.test/?x=1") == "2")
        setting.world.clock.advance(by: .seconds(1))
        #expect(try await setting.get(session) == "3")
        #expect(setting.cache.count == 2 && setting.cache.usedBytes > 2_048)
        setting.cache.removeAll()
        #expect(setting.cache.count == 0 && setting.cache.usedBytes == 0)
        #expect(try await setting.get(session) == "4")
    }

    @Test(
        "A response is kept only if its headers allow that, and all that it varies by is part of the key",
        arguments: [
            ("max-age=60", nil, true), ("private, max-age=60", nil, true), ("MAX-AGE=60, must-revalidate", nil, true),
            ("no-store, max-age=60", nil, false), ("max-age=60, no-cache", nil, false), ("max-age=0", nil, false),
            ("max-age=-1", nil, false), ("public", nil, false), (nil, nil, false), ("no-cache=\"x\", max-age=60", nil, false),
            ("max-age=60", "Accept-Language, authorization", true), ("max-age=60", "*", false),
            ("max-age=60", "Accept, *", false), ("max-age=60", "Approov-Token", false), ("max-age=60", "a b", false),
            ("max-age=60", "Cache-Control", false), ("max-age=60", "", true),
        ] as [(String?, String?, Bool)])
    func rules(control: String?, vary: String?, isKept: Bool) async throws {
        let setting = try Setting()
        let session = try setting.session()
        var fields = HTTPFields()
        fields[.cacheControl] = control
        fields[.vary] = vary
        setting.fields.value = fields
        #expect(try await setting.get(session) == "1")
        #expect(try await setting.get(session) == (isKept ? "1*" : "2"))
    }

    @Test("Expires and Age count, and the time that the answer took counts against the lifetime")
    func age() async throws {
        let setting = try Setting()
        let (session, clock) = (try setting.session(), setting.world.clock)
        _ = try await session.data(for: URLRequest("https://api.test/"))
        setting.fields.value = [.expires: HTTPDate.format(clock.date + 60)]
        #expect(try await setting.get(session, "https://api.test/expires") == "2")
        #expect(try await setting.get(session, "https://api.test/expires") == "2*")
        setting.fields.value = [.cacheControl: "max-age=60", .age: "60"]
        #expect(try await setting.get(session, "https://api.test/old") == "3")
        #expect(try await setting.get(session, "https://api.test/old") == "4")
        let api = setting.world.api.value
        setting.fields.value = [.cacheControl: "max-age=60"]
        setting.world.api.value = { request in
            clock.advance(by: .seconds(30))
            return try await api(request)
        }
        #expect(try await setting.get(session, "https://api.test/slow") == "5")
        clock.advance(by: .seconds(29))
        #expect(try await setting.get(session, "https://api.test/slow") == "5*")
        clock.advance(by: .seconds(1))
        #expect(try await setting.get(session, "https://api.test/slow") == "6")
    }

    @Test("Another status than 200, a redirected response and one that is too large are not kept")
    func notKept() async throws {
        let setting = try Setting(capacity: 4 * 1_200)
        let session = try setting.session()
        for path in ["missing", "moved"] {
            let first = try await setting.get(session, "https://api.test/\(path)")
            let second = try await setting.get(session, "https://api.test/\(path)")
            #expect(first != second && !second.hasSuffix("*"))
        }
        #expect(setting.cache.count == 0)
        setting.world.api.value = { request in
            TransportResponse(
                status: 200, headerFields: [.cacheControl: "max-age=60"], url: request.url,
                body: ResponseBody(bytes: Array(repeating: 65, count: 1_000)))
        }
        _ = try await setting.get(session, "https://api.test/large")
        #expect(setting.cache.count == 0)
        // What fails is not kept either, and the error of the limit is that of the session.
        await #expect(throws: ApproovError(.responseTooLarge, "")) { try await setting.get(session, "https://api.test/large", limit: 999) }
    }

    @Test("The cache keeps no cookie: a head that sets one comes without it from the cache")
    func cookies() async throws {
        let setting = try Setting()
        let session = try setting.session()
        // The first response sets the cookie, which the second request carries, so that its form is another one.
        setting.fields.value = [.cacheControl: "max-age=60", .setCookie: "user=alice; Path=/"]
        var heads: [HTTPURLResponse] = []
        for _ in 0..<3 {
            let result = try await session.cachedData(for: URLRequest("https://api.test/"), in: setting.cache)
            #expect(result.isFromCache == (heads.count == 2))
            heads.append(result.head)
        }
        #expect(setting.answers.value == 2)
        #expect(heads.map { $0.value(forHTTPHeaderField: "Set-Cookie") != nil } == [true, true, false])
        #expect(heads.allSatisfy { $0.value(forHTTPHeaderField: "Cache-Control") == "max-age=60" && $0.statusCode == 200 })
        #expect(heads[1].url == heads[2].url)
    }

    @Test("A request may ask for a new response, and forbid to keep it")
    func requests() async throws {
        let setting = try Setting()
        let session = try setting.session()
        #expect(try await setting.get(session) == "1")
        #expect(try await setting.get(session, "https://api.test/", ["Cache-Control": "no-store"]) == "2")
        #expect(try await setting.get(session) == "1*")
        #expect(try await setting.get(session, "https://api.test/", ["Cache-Control": "no-cache"]) == "3")
        #expect(try await setting.get(session) == "3*")
        #expect(try await setting.get(session, "https://api.test/", ["Pragma": "no-cache"]) == "4")
        var reload = URLRequest("https://api.test/")
        reload.cachePolicy = .reloadIgnoringLocalCacheData
        #expect(try await session.cachedData(for: reload, in: setting.cache).isFromCache == false)
        #expect(try await setting.get(session) == "5*")
        for request in [URLRequest("https://api.test/", method: "POST"), URLRequest("https://api.test/", body: "x")] {
            await #expect(throws: ApproovError(.badRequest, "")) { try await session.cachedData(for: request, in: setting.cache) }
        }
    }

    @Test("Requests that differ in a header, or whose sessions differ, do not share a response")
    func keys() async throws {
        let setting = try Setting()
        let (session, other) = (try setting.session(), try setting.session())
        #expect(try await setting.get(session, "https://api.test/", ["Accept-Language": "de"]) == "1")
        #expect(try await setting.get(session, "https://api.test/", ["Accept-Language": "fr"]) == "2")
        #expect(try await setting.get(session, "https://api.test/", ["accept-language": "de"]) == "1*")
        #expect(try await setting.get(session, "https://api.test/", ["Authorization": "Bearer a"]) == "3")
        #expect(try await setting.get(session) == "4")
        #expect(try await setting.get(other) == "5")
        let named = try setting.session { $0.perRequestHeaders = PerRequestHeaders { _ in ["X-Request-ID": "1"] } }
        #expect(try await setting.get(named) == "6")
        #expect(try await setting.get(named) == "7")
    }

    @Test("What an interceptor adds is part of the key, and if that changes on the way, the response is not kept")
    func interceptors() async throws {
        struct User: RequestInterceptor {
            let name = Shared("alice")
            let calls = Shared(0)
            let onCall = Shared<@Sendable (Int) -> Void>({ _ in })
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                onCall.value(
                    calls.change {
                        $0 += 1; return $0
                    })
                var request = request
                request.setValue(name.value, forHTTPHeaderField: "X-User")
                return request
            }
        }
        let setting = try Setting()
        let user = User()
        let session = try setting.session { $0.interceptors = [user] }
        #expect(try await setting.get(session) == "1")
        #expect(try await setting.get(session) == "1*")
        user.name.value = "bob"
        #expect(try await setting.get(session) == "2")
        #expect(try await setting.get(session) == "2*")
        // The user changes after the look-up, before the request is sent.
        user.name.value = "carol"
        let last = user.calls.value
        user.onCall.value = { if $0 == last + 2 { user.name.value = "dave" } }
        #expect(try await setting.get(session) == "3")
        #expect(setting.world.apiRequests.last?.headerFields[HTTPField.Name("X-User") ?? .accept] == "dave")
        #expect(setting.cache.count == 2)
    }

    @Test("An interceptor's changing header leaves nothing to share, and each call is sent once, also when calls come together")
    func changingHeader() async throws {
        struct Nonce: RequestInterceptor {
            let last = Shared(0)
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                let number = last.change {
                    $0 += 1; return $0
                }
                request.setValue("\(number)", forHTTPHeaderField: "X-Nonce")
                return request
            }
        }
        let setting = try Setting()
        let session = try setting.session { $0.interceptors = [Nonce()] }
        #expect(try await setting.get(session) == "1")
        #expect(try await setting.get(session) == "2")
        let together = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await setting.get(session) } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(together == Set((3...12).map(String.init)))
        #expect(setting.answers.value == 12 && setting.cache.count == 0)
    }

    @Test("A response to a request with a secure string in place of a placeholder is not kept")
    func substituted() async throws {
        let setting = try Setting()
        setting.world.authority.script.value.secureStrings = ["maps-key": "value of alice"]
        let session = try setting.session {
            $0.substitutions = [try Substitution(hosts: ["api.test"], headers: ["Api-Key": ""], queryParameters: ["key"])]
        }
        #expect(try await setting.get(session, "https://api.test/", ["Api-Key": "maps-key"]) == "1")
        #expect(try await setting.get(session, "https://api.test/", ["Api-Key": "maps-key"]) == "2")
        #expect(try await setting.get(session, "https://api.test/?key=maps-key") == "3")
        #expect(try await setting.get(session, "https://api.test/?key=maps-key") == "4")
        #expect(setting.world.apiRequests.first?.headerFields[HTTPField.Name("Api-Key") ?? .accept] == "value of alice")
        #expect(setting.cache.count == 0)
        // A request without a placeholder may share its response.
        #expect(try await setting.get(session) == "5")
        #expect(try await setting.get(session) == "5*")
    }

    @Test("Equal requests with a placeholder at the same time do not share a response")
    func substitutedTogether() async throws {
        let setting = try Setting()
        setting.world.authority.script.value.secureStrings = ["maps-key": "value of alice"]
        let session = try setting.session {
            $0.substitutions = [try Substitution(hosts: ["api.test"], headers: ["Api-Key": ""])]
        }
        let (gate, api) = (Gate(), setting.world.api.value)
        setting.world.api.value = { request in
            try await gate.wait()
            return try await api(request)
        }
        let all = Task {
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { try await setting.get(session, "https://api.test/", ["Api-Key": "maps-key"]) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
        }
        #expect(await eventually { setting.cache.waiterCount == 3 && gate.waiterCount == 1 })
        gate.open()
        #expect(try await all.value == ["1", "2", "3"])
        #expect(setting.cache.count == 0)
    }

    @Test("Equal requests at the same time do not share a response that came after a redirect, nor one that a validator refused then")
    func redirectedTogether() async throws {
        struct Odd: ResponseValidating {
            func validate(_ head: HTTPURLResponse, body: Data?) throws {
                guard let body, String(decoding: body, as: UTF8.self) != "2" else { throw ApproovError.responseRefused("even") }
            }
        }
        let setting = try Setting()
        let session = try setting.session { $0.validators = [Odd()] }
        let (gate, api) = (Gate(), setting.world.api.value)
        setting.world.api.value = { request in
            if request.url.target == "/" { try await gate.wait() }
            return try await api(request)
        }
        let all = Task {
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<3 {
                    group.addTask { (try? await setting.get(session, "https://api.test/moved")) ?? "refused" }
                }
                return await group.reduce(into: [String]()) { $0.append($1) }
            }
        }
        #expect(await eventually { setting.cache.waiterCount == 3 && gate.waiterCount == 1 })
        gate.open()
        #expect(await all.value.sorted() == ["1", "3", "refused"])
    }

    @Test("A response to a request that the policy changed is not kept")
    func policy() async throws {
        struct Naming: AttestationPolicy {
            let name: Shared<String?>
            func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest {
                var request = request
                if let name = name.value { request.setValue(name, forHTTPHeaderField: "X-User") }
                return request
            }
        }
        let setting = try Setting()
        let name = Shared<String?>("alice")
        let session = try setting.session { $0.policy = Naming(name: name) }
        #expect(try await setting.get(session) == "1")
        #expect(setting.cache.count == 0)
        name.value = "bob"
        #expect(try await setting.get(session) == "2")
        name.value = nil
        #expect(try await setting.get(session) == "3")
        #expect(try await setting.get(session) == "3*")
    }

    @Test("The session, its interceptors and its cache policy may ask for a new response, too, and forbid to keep it")
    func sessionSettings() async throws {
        struct Forbids: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.setValue("no-store", forHTTPHeaderField: "Cache-Control")
                return request
            }
        }
        let setting = try Setting()
        let additional = URLSessionConfiguration.ephemeral
        additional.httpAdditionalHeaders = ["Cache-Control": "no-store"]
        for session in [try setting.session(wrapping: additional), try setting.session { $0.interceptors = [Forbids()] }] {
            let first = try await setting.get(session)
            #expect(try await setting.get(session) != first + "*")
            #expect(setting.cache.count == 0)
        }
        #expect(setting.answers.value == 4)
        let reloading = URLSessionConfiguration.ephemeral
        reloading.requestCachePolicy = .reloadIgnoringLocalCacheData
        let session = try setting.session(wrapping: reloading)
        #expect(try await setting.get(session) == "5")
        #expect(try await setting.get(session) == "6")
        // The request's own cache policy comes first.
        var request = URLRequest("https://api.test/")
        request.cachePolicy = .returnCacheDataElseLoad
        #expect(try await session.cachedData(for: request, in: setting.cache).isFromCache)
    }

    @Test("The session's validators judge a response from the cache, too")
    func validators() async throws {
        let setting = try Setting()
        let session = try setting.session()
        #expect(try await setting.get(session) == "1")
        struct Refuses: ResponseValidating {
            func validate(_ response: HTTPURLResponse, body: Data?) throws { throw CocoaError(.coderInvalidValue) }
        }
        let strict = try session.adding(interceptors: [], validators: [Refuses()])
        await #expect(throws: ApproovError(.responseRefused, "")) { try await setting.get(strict) }
        #expect(setting.answers.value == 1)
    }

    // MARK: Flights

    @Test("A hundred equal requests at the same time are one request")
    func crowd() async throws {
        let setting = try Setting()
        let session = try setting.session()
        let gate = Gate()
        let api = setting.world.api.value
        setting.world.api.value = { request in
            try await gate.wait()
            return try await api(request)
        }
        let all = Task {
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<100 { group.addTask { try await setting.get(session) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(await eventually { setting.cache.waiterCount == 100 && gate.waiterCount == 1 })
        gate.open()
        #expect(try await all.value == Array(repeating: "1", count: 100))
        #expect(setting.cache.flightCount == 0 && setting.cache.waiterCount == 0)
    }

    @Test("A cancelled caller leaves the flight to the others, and the last one takes it along")
    func cancellation() async throws {
        let setting = try Setting()
        let session = try setting.session()
        let (arrived, ended) = (Shared(0), Shared(0))
        setting.world.api.value = { _ in
            arrived.change { $0 += 1 }
            defer { ended.change { $0 += 1 } }
            try await waitForCancellation()
        }
        let (first, second) = (Task { try await setting.get(session) }, Task { try await setting.get(session) })
        #expect(await eventually { setting.cache.waiterCount == 2 && arrived.value == 1 })
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(setting.cache.flightCount == 1 && ended.value == 0)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(await eventually { ended.value == 1 })
        #expect(setting.cache.flightCount == 0 && setting.cache.count == 0)
    }

    @Test("A failure reaches all callers, and the next request is sent")
    func failure() async throws {
        let setting = try Setting()
        let session = try setting.session()
        let (gate, api) = (Gate(), setting.world.api.value)
        setting.world.api.value = { _ in
            try await gate.wait()
            throw TransportError(.connectionLost, "reset")
        }
        let failed = [Task { try await setting.get(session) }, Task { try await setting.get(session) }]
        #expect(await eventually { setting.cache.waiterCount == 2 && gate.waiterCount == 1 })
        gate.open()
        for task in failed { await #expect(throws: ApproovError(.networkingError, "")) { try await task.value } }
        #expect(setting.world.apiRequests.count == 1)
        setting.world.api.value = api
        #expect(try await setting.get(session) == "1")
    }

    @Test("A reload without a response, or with a 5xx status, keeps the fresh response, and another answer removes it")
    func failedReload() async throws {
        let setting = try Setting()
        let session = try setting.session()
        let strict = try setting.session { $0.validators = [StatusValidator()] }
        let api = setting.world.api.value
        let reload = ["Cache-Control": "no-cache"]
        for session in [session, strict] { _ = try await setting.get(session) }
        setting.world.api.value = { _ in throw TransportError(.connectionLost, "reset") }
        await #expect(throws: ApproovError(.networkingError, "")) { try await setting.get(session, "https://api.test/", reload) }
        #expect(try await setting.get(session) == "1*")
        for (status, isKept) in [(503, true), (404, false)] {
            setting.world.api.value = { TransportResponse(status: status, url: $0.url) }
            #expect(try await setting.get(session, "https://api.test/", reload) == "")
            setting.world.api.value = api
            #expect(try await setting.get(session).hasSuffix("*") == isKept)
        }
        // What a validator refuses is an answer, and so is a redirect.
        for (status, isKept) in [(503, true), (401, false)] {
            setting.world.api.value = { TransportResponse(status: status, url: $0.url) }
            await #expect(throws: ApproovError(.responseRefused, "")) { try await setting.get(strict, "https://api.test/", reload) }
            setting.world.api.value = api
            #expect(try await setting.get(strict).hasSuffix("*") == isKept)
        }
        for status in [200, 503] {
            setting.world.api.value = { request in
                request.url.target == "/"
                    ? TransportResponse(status: 302, headerFields: [.location: "/moved"], url: request.url)
                    : TransportResponse(status: status, url: request.url)
            }
            #expect(try await setting.get(session, "https://api.test/", reload) == "")
            setting.world.api.value = api
            #expect(try await setting.get(session).hasSuffix("*") == false)
        }
    }

    @Test("A failure fails no request of another session or with another timeout: that is sent for itself")
    func failureOfAnother() async throws {
        let setting = try Setting()
        let session = try setting.session()
        let other = try session.adding(interceptors: [], validators: [StatusValidator(100..<600)])
        let (gate, api) = (Gate(), setting.world.api.value)
        setting.world.api.value = { request in
            guard setting.world.apiRequests.count == 1 else { return try await api(request) }
            try await gate.wait()
            throw TransportError(.connectionLost, "reset")
        }
        let failed = Task { try await setting.get(session) }
        #expect(await eventually { gate.waiterCount == 1 })
        var patient = URLRequest("https://api.test/")
        patient.timeoutInterval = 300
        let request = patient
        let others = [
            Task { try await setting.get(other) },
            Task { String(decoding: try await session.cachedData(for: request, in: setting.cache).data, as: UTF8.self) },
        ]
        #expect(await eventually { setting.cache.waiterCount == 3 })
        gate.open()
        await #expect(throws: ApproovError(.networkingError, "")) { try await failed.value }
        var answers: Set<String> = []
        for task in others { answers.insert(try await task.value) }
        #expect(answers == ["1", "2"] && setting.world.apiRequests.count == 3)
    }

    @Test("A caller that waited for another one's failed request is still answered by a session that finishes")
    func finishing() async throws {
        let setting = try Setting()
        let session = try setting.session()
        let (gate, api) = (Gate(), setting.world.api.value)
        setting.world.api.value = { request in
            guard setting.world.apiRequests.count == 1 else { return try await api(request) }
            try await gate.wait()
            throw TransportError(.connectionLost, "reset")
        }
        let failed = Task { try await setting.get(session) }
        #expect(await eventually { gate.waiterCount == 1 })
        var patient = URLRequest("https://api.test/")
        patient.timeoutInterval = 300
        let request = patient
        let other = Task { try await session.cachedData(for: request, in: setting.cache).data }
        #expect(await eventually { setting.cache.waiterCount == 2 })
        session.finishTasksAndInvalidate()
        gate.open()
        await #expect(throws: ApproovError(.networkingError, "")) { try await failed.value }
        #expect(try await other.value == Data("1".utf8) && setting.world.apiRequests.count == 2)
    }

    @Test("A response that one session's validators refuse fails no request of another session")
    func refusal() async throws {
        struct Refuses: ResponseValidating {
            func validate(_ response: HTTPURLResponse, body: Data?) throws { throw CocoaError(.coderInvalidValue) }
        }
        let setting = try Setting()
        let session = try setting.session()
        let strict = try session.adding(interceptors: [], validators: [Refuses()])
        let (gate, api) = (Gate(), setting.world.api.value)
        setting.world.api.value = { request in
            try await gate.wait()
            return try await api(request)
        }
        let refused = [Task { try await setting.get(strict) }, Task { try await setting.get(strict) }]
        #expect(await eventually { setting.cache.waiterCount == 2 && gate.waiterCount == 1 })
        let other = Task { try await setting.get(session) }
        #expect(await eventually { setting.cache.waiterCount == 3 })
        gate.open()
        for task in refused { await #expect(throws: ApproovError(.responseRefused, "")) { try await task.value } }
        #expect(try await other.value == "2")
        #expect(setting.answers.value == 2)
    }

    @Test("A flight that waits at a gate passes once the work of a barrier waits for it")
    func barrier() async throws {
        let setting = try Setting()
        let gate = RequestGate(clock: setting.world.clock)
        let session = try setting.session { $0.gate = gate }
        let (working, join) = (Gate(), Gate())
        let barrier = Task {
            try await gate.barrier {
                working.open()
                try await join.wait()
                return try await setting.get(session)
            }
        }
        try await working.wait()
        let outside = Task { try await setting.get(session) }
        #expect(await eventually { gate.waitingCount == 1 })
        join.open()
        #expect(await eventually(within: .seconds(20)) { setting.answers.value == 1 })
        // Lets a flight that waits for the barrier fail.
        gate.empty()
        #expect(try await barrier.value == "1")
        #expect(try await outside.value == "1")
    }

    // MARK: Wipes

    @Test("A wipe removes the session's responses to the hosts that it names, and those of no other session")
    func wipe() async throws {
        let setting = try Setting()
        let (session, other) = (try setting.session(), try setting.session())
        for (index, url) in ["https://api.test/", "https://other.test/"].enumerated() {
            #expect(try await setting.get(session, url) == "\(2 * index + 1)")
            #expect(try await setting.get(other, url) == "\(2 * index + 2)")
        }
        await session.wipe(.hosts([try HostPattern("api.test")]))
        #expect(setting.cache.count == 3)
        #expect(try await setting.get(session, "https://other.test/") == "3*")
        await session.wipe()
        #expect(setting.cache.count == 2)
        #expect(try await setting.get(other) == "2*")
    }

    @Test("A wipe of some URLs removes the responses to them, and cancels the requests to them")
    func wipeOfURLs() async throws {
        let setting = try Setting()
        let session = try setting.session { $0.tracksRequests = true }
        let client = try APIClient(base: try #require(URL(string: "https://api.test/v1/")), session: session)
        let kept = ["https://api.test/v1/users", "https://api.test/v1/items/1", "https://other.test/v1/users/1"]
        for url in kept + ["https://api.test/v1/users/1", "https://api.test/v1/items/%2E%2E/%75sers/2"] {
            _ = try await setting.get(session, url)
        }
        #expect(setting.cache.count == 5)
        let (arrived, gate) = (Shared(0), Gate())
        let api = setting.world.api.value
        setting.world.api.value = { request in
            arrived.change { $0 += 1 }
            await Task.detached { try? await gate.wait() }.value
            return try await api(request)
        }
        let wiped = Task { try await setting.get(session, "https://api.test/v1/users/3") }
        let left = Task { try await setting.get(session, "https://api.test/v1/items/3") }
        #expect(await eventually { arrived.value == 2 })
        try await client.wipe(matching: "users/**")
        gate.open()
        await #expect(throws: CancellationError.self) { try await wiped.value }
        _ = try await left.value
        #expect(await eventually { setting.cache.flightCount == 0 })
        #expect(setting.cache.count == 4)
        for url in kept { #expect(try await setting.get(session, url).hasSuffix("*")) }
        for pattern in ["users/***", "http://api.test/v1/users/**"] {
            await #expect(throws: ApproovError(.initializationError, "")) { try await client.wipe(matching: pattern) }
        }
    }

    @Test("A request that began before a wipe leaves nothing in the cache", arguments: [false, true])
    func overtaken(isTracked: Bool) async throws {
        let setting = try Setting()
        let session = try setting.session { $0.tracksRequests = isTracked }
        let (arrived, gate) = (Gate(), Gate())
        let api = setting.world.api.value
        setting.world.api.value = { request in
            arrived.open()
            await Task.detached { try? await gate.wait() }.value
            return try await api(request)
        }
        let old = Task { try await setting.get(session) }
        try await arrived.wait()
        await session.wipe()
        gate.open()
        if isTracked {
            await #expect(throws: CancellationError.self) { try await old.value }
        } else {
            #expect(try await old.value == "1")
        }
        #expect(await eventually { setting.cache.flightCount == 0 })
        #expect(setting.cache.count == 0)
    }

    @Test("The response to a GET that an interceptor made a HEAD is not kept")
    func changedMethod() async throws {
        struct Heads: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.httpMethod = "HEAD"
                return request
            }
        }
        let setting = try Setting()
        _ = try await setting.get(try setting.session { $0.interceptors = [Heads()] })
        #expect(setting.cache.count == 0)
        // Another session of the same cache asks for the content.
        _ = try await setting.get(try setting.session())
        #expect(setting.cache.count == 1)
    }

    @Test("No cached byte of one user reaches the code of another, while the user changes and requests are in flight")
    func bleed() async throws {
        actor Screen {
            let holder: CredentialHolder
            let session: ApproovSession
            let cache: DataCache
            var user = "Bearer 0"
            var faults = 0
            var answers = 0
            var hits = 0

            init(_ holder: CredentialHolder, _ session: ApproovSession, _ cache: DataCache) {
                self.holder = holder
                self.session = session
                self.cache = cache
            }

            func logIn(_ number: Int) throws {
                // Only a few users, so that each of them comes back.
                user = "Bearer \(number % 3)"
                try holder.update(user)
            }

            func load(_ number: Int) async {
                do {
                    let result = try await session.cachedData(for: URLRequest("https://api.test/\(number % 4)"), in: cache)
                    answers += 1
                    if result.isFromCache { hits += 1 }
                    if String(decoding: result.data, as: UTF8.self) != user { faults += 1 }
                } catch is CancellationError {
                } catch {
                    faults += 1
                }
            }
        }
        let setting = try Setting()
        setting.world.api.value = { request in
            await Task.yield()
            return TransportResponse(
                status: 200, headerFields: [.cacheControl: "max-age=60"], url: request.url,
                body: ResponseBody(bytes: Array((request.headerFields[.authorization] ?? "no user").utf8)))
        }
        let holder = try CredentialHolder("Bearer 0")
        let session = try setting.session { configuration in
            configuration.credential = .header("Authorization", holder, for: [try HostPattern("api.test")])
        }
        let screen = Screen(holder, session, setting.cache)
        try await withThrowingTaskGroup { group in
            for number in 1...100 {
                for request in 0..<20 { group.addTask { await screen.load(request) } }
                group.addTask { try await screen.logIn(number) }
            }
            try await group.waitForAll()
        }
        for request in 0..<8 { await screen.load(request) }
        #expect(await screen.faults == 0)
        #expect(await screen.answers > 0)
        #expect(await screen.hits > 0)
        try holder.update(nil)
        #expect(setting.cache.count == 0)
        await #expect(throws: ApproovError(.credentialMissing, "")) { try await setting.get(session) }
    }

    // MARK: Clients

    @Test("A client takes responses from its cache, and a request that changes a resource removes what the cache has of it")
    func client() async throws {
        let setting = try Setting()
        var client = try APIClient(base: try #require(URL(string: "https://api.test/v1")), session: setting.session())
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        client.cache = setting.cache
        #expect(try await client.cachedData(for: "items", query: ["page": 1]).isFromCache == false)
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        #expect(try await client.cachedData(for: "items").isFromCache)
        try client.rules.configure("**", description: "language") { $0.headers["Accept-Language"] = "de" }
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        #expect(try await client.cachedData(for: "items").isFromCache)
        _ = try await client.resource("items").send(.post, body: FormBody(["name": "cat"]))
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        // A change whose response a validator refuses was executed nevertheless.
        #expect(try await client.cachedData(for: "items").isFromCache)
        client.validators = [MediaTypeValidator(["application/json"])]
        await #expect(throws: ApproovError(.responseRefused, "")) { try await client.resource("items").send(.put) }
        client.validators = []
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        // A gateway that gave up does not know whether the server executed the change.
        let api = setting.world.api.value
        setting.world.api.value = { request in
            request.method == .put ? TransportResponse(status: 504, url: request.url) : try await api(request)
        }
        #expect(try await client.cachedData(for: "items").isFromCache)
        await #expect(throws: APIError(.unexpectedStatus, "")) { try await client.resource("items").send(.put) }
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        // Nor does a client whose connection broke.
        setting.world.api.value = { request in
            guard request.method == .put else { return try await api(request) }
            throw TransportError(.connectionLost, "the connection was lost")
        }
        #expect(try await client.cachedData(for: "items").isFromCache)
        await #expect(throws: ApproovError.self) { try await client.resource("items").send(.put) }
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        let missing = try APIClient(base: try #require(URL(string: "https://api.test/")), session: client.session)
        await #expect(throws: APIError(.unexpectedStatus, "")) { try await missing.cachedData(for: "missing") }
    }

    @Test("A wipe of some URLs also removes the responses to requests that an interceptor sent elsewhere")
    func wipeOfAlteredURL() async throws {
        struct Elsewhere: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.url = request.url.flatMap { URL(string: "https://api.test/internal\($0.path())") }
                return request
            }
        }
        let setting = try Setting()
        let session = try setting.session { $0.interceptors = [Elsewhere()] }
        let client = try APIClient(base: try #require(URL(string: "https://api.test/")), session: session)
        _ = try await setting.get(session, "https://api.test/users/1")
        #expect(try await setting.get(session, "https://api.test/users/1").hasSuffix("*"))
        try await client.wipe(matching: "users/**")
        #expect(setting.cache.count == 0)
    }

    @Test("A request that changes a resource removes what the cache has of it under a URL that an interceptor altered")
    func alteredURL() async throws {
        struct Version: RequestInterceptor {
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                var request = request
                request.url?.append(queryItems: [URLQueryItem(name: "v", value: "2")])
                return request
            }
        }
        let setting = try Setting()
        var client = try APIClient(
            base: try #require(URL(string: "https://api.test/")), session: setting.session { $0.interceptors = [Version()] })
        client.cache = setting.cache
        #expect(try await client.cachedData(for: "items").isFromCache == false)
        #expect(try await client.cachedData(for: "items").isFromCache)
        _ = try await client.resource("items").send(.put)
        #expect(try await client.cachedData(for: "items").isFromCache == false)
    }

    @Test("While the network is away, an interceptor that needs it makes a request wait, and not fail")
    func awaitNetwork() async throws {
        struct NeedsNetwork: RequestInterceptor {
            let monitor: NetworkMonitor
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                guard monitor.status == .reachable else { throw ApproovError(.networkingError, "no network") }
                return request
            }
        }
        let (setting, monitor) = (try Setting(), NetworkMonitor(testing: .unreachable))
        let session = try setting.session {
            $0.interceptors = [
                AwaitNetwork(monitor: monitor, timeout: .seconds(30), spread: .zero, clock: setting.world.clock),
                NeedsNetwork(monitor: monitor),
            ]
        }
        async let text = setting.get(session)
        try #require(await eventually { monitor.listenerCount == 1 })
        monitor.publish(.reachable)
        #expect(try await text == "1")
    }
}
