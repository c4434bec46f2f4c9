import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S1.29, S2.32, S3.27
/// The settings of the wrapped session's configuration that still apply.
@Suite struct WrappedConfigurationTests {
    @Test("Additional headers are added, and the request's own headers take precedence")
    func additionalHeaders() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-App": "app", "Accept": "text/plain"]
        _ = try await world.session(configuration: configuration).data(for: URLRequest("https://else.test/", ["accept": "text/html"]))
        let fields = try #require(world.apiRequests.first).headerFields
        #expect(fields[.accept] == "text/html")
        #expect(fields[values: .accept].count == 1)
        #expect(HTTPField.Name("X-App").map { fields[$0] } == "app")
    }

    @Test("Interceptors see the additional headers, and tokens can be bound to them")
    func boundToAdditional() async throws {
        struct Looking: RequestInterceptor {
            let seen: Shared<String?>
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                seen.value = request.value(forHTTPHeaderField: "Authorization")
                return request
            }
        }
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer abc"]
        let seen = Shared<String?>(nil)
        let session = try world.session(configuration: configuration, interceptors: [Looking(seen: seen)], bindHeader: "Authorization")
        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(seen.value == "Bearer abc")
        #expect(world.apiRequests.first?.headerFields[values: .authorization] == ["Bearer abc"])
    }

    @Test("The timeouts of the session and of the request become the timeouts of the transfer")
    func timeouts() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 7
        configuration.timeoutIntervalForResource = 70
        let session = try world.session(configuration: configuration)
        _ = try await session.data(for: URLRequest("https://else.test/"))
        var own = URLRequest("https://else.test/")
        own.timeoutInterval = 3
        _ = try await session.data(for: own)
        #expect(world.apiRequests.map(\.options.idleTimeout) == [.seconds(7), .seconds(3)])
        #expect(world.apiRequests.allSatisfy { $0.options.totalTimeout == .seconds(70) })
        configuration.timeoutIntervalForRequest = .infinity
        configuration.timeoutIntervalForResource = -1
        _ = try await world.session(configuration: configuration).data(for: URLRequest("https://else.test/"))
    }

    @Test("The wait for a token counts towards the timeouts of the request and of the resource", arguments: [5, 60])
    func tokenTimeout(forRequest seconds: Int) async throws {
        let world = try World()
        world.authority.script.value.fault = { _ in
            while true { try await Task.sleep(for: .seconds(3_600)) }
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(seconds)
        configuration.timeoutIntervalForResource = 5
        let session = try world.session(configuration: configuration)
        let call = Task { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(await eventually { !world.transport.requests.isEmpty })
        // One sleeper is the request's timeout, the other is the service's own of 30 s.
        await world.clock.sleepers(atLeast: 2)
        world.clock.advance(by: .seconds(5))
        await #expect(throws: ApproovError(.networkingError, "")) { try await call.value }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("The resource timeout covers all redirects together")
    func resourceTimeout() async throws {
        let world = try World()
        let clock = world.clock
        world.api.value = { request in
            clock.advance(by: .seconds(40))
            return TransportResponse(status: 302, headerFields: [.location: "/next"], url: request.url)
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForResource = 100
        let session = try world.session(configuration: configuration)
        await #expect(throws: ApproovError(.timedOut, "")) { try await session.data(for: URLRequest("https://else.test/")) }
        #expect(world.apiRequests.map(\.options.totalTimeout) == [.seconds(100), .seconds(60), .seconds(20)])
    }

    @Test("Cookies are stored and sent, unless the session or the request disables them")
    func cookies() async throws {
        let world = try World()
        world.api.value = { request in
            var fields = HTTPFields()
            if request.url.target == "/set" {
                fields.append(HTTPField(name: .setCookie, value: "a=1; Path=/; Expires=Wed, 09 Jun 2100 10:18:14 GMT"))
                fields.append(HTTPField(name: .setCookie, value: "b=2; Path=/; Secure"))
            }
            return TransportResponse(status: 200, headerFields: fields, url: request.url)
        }
        let session = try world.session()
        _ = try await session.data(for: URLRequest("https://api.test/set"))
        _ = try await session.data(for: URLRequest("https://api.test/get"))
        _ = try await session.data(for: URLRequest("https://else.test/get"))
        var without = URLRequest("https://api.test/get")
        without.httpShouldHandleCookies = false
        _ = try await session.data(for: without)
        let sent = world.apiRequests.map { $0.headerFields[.cookie].map { Set($0.split(separator: "; ")) } }
        #expect(sent == [nil, ["a=1", "b=2"], nil, nil])

        // With an interceptor, the cookies pass through a URLRequest and do not change.
        struct Passing: RequestInterceptor {}
        let passing = try world.session(interceptors: [Passing()])
        _ = try await passing.data(for: URLRequest("https://api.test/set"))
        _ = try await passing.data(for: URLRequest("https://api.test/get"))
        let cookie = world.apiRequests.last?.headerFields[values: .cookie]
        #expect(cookie?.count == 1)
        #expect(cookie?.first.map { Set($0.split(separator: "; ")) } == ["a=1", "b=2"])

        let none = URLSessionConfiguration.ephemeral
        none.httpShouldSetCookies = false
        let silent = try world.session(configuration: none)
        _ = try await silent.data(for: URLRequest("https://api.test/set"))
        _ = try await silent.data(for: URLRequest("https://api.test/get"))
        #expect(world.apiRequests.last?.headerFields[.cookie] == nil)
    }

    @Test(
        "The accept policy decides whether cookies are stored, and httpShouldSetCookies whether they are sent",
        arguments: [(HTTPCookie.AcceptPolicy.always, true), (.always, false), (.never, true), (.never, false)])
    func cookieFlags(policy: HTTPCookie.AcceptPolicy, sends: Bool) async throws {
        let world = try World()
        world.api.value = { request in
            TransportResponse(status: 200, headerFields: [.setCookie: "new=2; Path=/"], url: request.url)
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieAcceptPolicy = policy
        configuration.httpShouldSetCookies = sends
        let storage = try #require(configuration.httpCookieStorage)
        storage.setCookie(try #require(HTTPCookie(properties: [.name: "old", .value: "1", .domain: "api.test", .path: "/"])))
        let session = try world.session(configuration: configuration)
        for _ in 0..<2 { _ = try await session.data(for: URLRequest("https://api.test/")) }
        let sent = world.apiRequests.map { $0.headerFields[.cookie].map { Set($0.split(separator: "; ")) } }
        #expect(sent == (sends ? [["old=1"], policy == .never ? ["old=1"] : ["old=1", "new=2"]] : [nil, nil]))
        #expect(Set(storage.cookies?.map(\.name) ?? []) == (policy == .never ? ["old"] : ["old", "new"]))
        await session.wipe()
        #expect(storage.cookies?.isEmpty ?? true)
    }

    @Test("A cookie is sent only for its scheme, path and lifetime, and never to a whole public suffix")
    func cookieScope() async throws {
        let world = try World()
        let cookies = [
            "s=1; Secure; Path=/", "p=1; Path=/admin", "t=1; Domain=test; Path=/", "u=1; Domain=co.uk; Path=/",
            // Over at once, and for an hour. Max-Age counts more than Expires.
            "e=1; Max-Age=0; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/", "h=1; Max-Age=3600; Path=/hour",
        ]
        world.api.value = { request in
            var fields = HTTPFields()
            if request.url.target == "/set" { for value in cookies { fields.append(HTTPField(name: .setCookie, value: value)) } }
            return TransportResponse(status: 200, headerFields: fields, url: request.url)
        }
        let session = try world.session()
        for url in ["https://else.test/set", "https://shop.co.uk/set"] { _ = try await session.data(for: URLRequest(url)) }
        for url in [
            "http://else.test/", "https://else.test/", "https://else.test/admin/users", "https://else.test/administrator",
            "https://other.test/", "https://bank.co.uk/", "https://else.test/hour",
        ] { _ = try await session.data(for: URLRequest(url)) }
        let sent = world.apiRequests.dropFirst(2).map { $0.headerFields[.cookie].map { Set($0.split(separator: "; ")) } }
        #expect(sent == [nil, ["s=1"], ["s=1", "p=1"], ["s=1"], nil, nil, ["s=1", "h=1"]])
    }

    @Test("Cookies with longer paths are sent first, and an address has no parent domain")
    func cookieOrder() async throws {
        let world = try World(hosts: [:])
        world.api.value = { request in
            var fields = HTTPFields()
            if request.url.target == "/set" {
                for path in ["/", "/a/b/c", "/a", "/a/b"] {
                    fields.append(HTTPField(name: .setCookie, value: "id=\(path.count); Path=\(path)"))
                }
            }
            if request.url.host.kind != .name { fields.append(HTTPField(name: .setCookie, value: "evil=1; Domain=0.0.1")) }
            return TransportResponse(status: 200, headerFields: fields, url: request.url)
        }
        let session = try world.session()
        for path in ["set", "a/b/c/d"] { _ = try await session.data(for: URLRequest("https://else.test/\(path)")) }
        #expect(world.apiRequests.last?.headerFields[.cookie] == "id=6; id=4; id=2; id=1")
        for host in ["10.0.0.1", "127.0.0.1"] { _ = try await session.data(for: URLRequest("http://\(host)/")) }
        #expect(world.apiRequests.last?.headerFields[.cookie] == nil)
    }

    @Test("A cookie that a redirect sets is sent to the redirect's target")
    func redirectCookies() async throws {
        let world = try World()
        world.api.value = { request in
            guard request.url.target == "/login" else { return TransportResponse(status: 200, url: request.url) }
            return TransportResponse(
                status: 303, headerFields: [.location: "/home", .setCookie: "session=1; Path=/"], url: request.url)
        }
        _ = try await world.session().data(for: URLRequest("https://api.test/login", method: "POST", body: "x"))
        #expect(world.apiRequests.last?.headerFields[.cookie] == "session=1")
    }

    @Test("A configured proxy is used only for its scheme, and it may be a SOCKS proxy")
    func proxies() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = ["HTTPSEnable": 1, "HTTPSProxy": "proxy.test", "HTTPSPort": 3128]
        let session = try world.session(configuration: configuration)
        _ = try await session.data(for: URLRequest("https://else.test/"))
        _ = try await session.data(for: URLRequest("http://else.test/"))
        let proxies = world.apiRequests.map(\.options.proxy)
        #expect(proxies.first??.host.name == "proxy.test")
        #expect(proxies.first??.port == 3128)
        #expect(proxies.last == .some(nil))
        configuration.connectionProxyDictionary = ["SOCKSEnable": 1, "SOCKSProxy": "socks.test", "SOCKSPort": 1080]
        _ = try await world.session(configuration: configuration).data(for: URLRequest("http://else.test/"))
        #expect(world.apiRequests.last?.options.proxy?.kind == .socks5)
    }

    @Test("A malformed or unsupported proxy configuration is refused, not ignored")
    func unsupportedProxies() throws {
        let world = try World()
        let proxy: [AnyHashable: Any] = ["HTTPSProxy": "proxy.test", "HTTPSPort": 3128]
        let flaws: [[AnyHashable: Any]] = [
            ["HTTPSPort": 0], ["ProxyAutoConfigEnable": 1, "ProxyAutoConfigURLString": "http://pac.test"],
            ["ExceptionsList": ["*.internal"]], ["HTTPSProxyUsername": "alice"],
        ]
        for flaw in flaws {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.connectionProxyDictionary = proxy.merging(flaw) { $1 }
            #expect(throws: ApproovError(.initializationError, "")) { try world.session(configuration: configuration) }
        }
    }

    @Test("A reload policy sends `Cache-Control: no-cache`, and a cache-only policy fails")
    func cachePolicies() async throws {
        let world = try World()
        let session = try world.session()
        var reload = URLRequest("https://else.test/")
        reload.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        _ = try await session.data(for: reload)
        #expect(world.apiRequests.last?.headerFields[.cacheControl] == "no-cache")
        var cacheOnly = URLRequest("https://else.test/")
        cacheOnly.cachePolicy = .returnCacheDataDontLoad
        await #expect(throws: ApproovError(.unsupported, "")) { try await session.data(for: cacheOnly) }
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.requestCachePolicy = .returnCacheDataDontLoad
        let always = try world.session(configuration: wrapped)
        await #expect(throws: ApproovError(.unsupported, "")) { try await always.data(for: URLRequest("https://else.test/")) }
        #expect(world.apiRequests.count == 1)
    }

    /// Answers every request to a host below .test.
    final class Mock: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.host()?.hasSuffix(".test") ?? false }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
            if request.url?.path() == "/hangs" { return }
            if request.url?.path() == "/fails" {
                client?.urlProtocol(self, didFailWithError: URLError(.timedOut))
                return
            }
            let body = request.httpBody.map { String(decoding: $0, as: UTF8.self) } ?? "no body"
            guard let url = request.url,
                let response = HTTPURLResponse(url: url, statusCode: 203, httpVersion: nil, headerFields: ["X-Mock": "1"])
            else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data("mock: \(body)".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
        override func stopLoading() {}
    }

    @Test("A protocol class gets the requests that it claims, with their bodies, except those to protected hosts")
    func protocolClasses() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Mock.self] + (configuration.protocolClasses ?? [])
        let session = try world.session(configuration: configuration)
        let request = URLRequest("https://mock.test/", method: "POST", body: "one")
        let (data, response) = try await session.data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "mock: one")
        #expect(response.statusCode == 203)
        #expect(try await session.upload(for: request, from: Data("two".utf8)).0 == Data("mock: two".utf8))
        let (file, _) = try await session.download(for: request)
        #expect(try Data(contentsOf: file) == Data("mock: one".utf8))
        try FileManager.default.removeItem(at: file)
        var bytes: [UInt8] = []
        for try await byte in try await session.bytes(for: request).0 { bytes.append(byte) }
        #expect(bytes == Array("mock: one".utf8))
        #expect(world.transport.requests.isEmpty)

        _ = try await session.data(for: URLRequest("https://api.test/"))
        #expect(world.apiRequests.count == 1)
    }

    @Test("A protocol class gets no request that the trust manager refuses: plain HTTP, or a host without an evaluator")
    func protocolClassesAndEvaluators() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Mock.self]
        let manager = ApproovTrustManager(
            allHostsMustBeEvaluated: true, evaluators: ["own.test": DefaultTrustEvaluator()], anchors: .of(world.account.root),
            logger: .silent)
        let session = try world.session(configuration: configuration, trustManager: manager)
        #expect(try await session.data(for: URLRequest("https://own.test/")).1.statusCode == 203)
        for url in ["http://own.test/", "https://other.test/", "http://other.test/"] {
            await #expect(throws: ApproovError(.pinningError, ""), "\(url)") { try await session.data(for: URLRequest(url)) }
        }
        #expect(world.apiRequests.isEmpty)
    }

    @Test("A protocol class's response obeys the limit, and in every method its failure is an error of the SDK")
    func wrappedLimitAndErrors() async throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Mock.self]
        let session = try World().session(configuration: configuration)
        let request = URLRequest("https://mock.test/", method: "POST", body: "one")
        #expect(try await session.data(for: request, limit: 9).0.count == 9)
        await #expect(throws: ApproovError(.responseTooLarge, "")) { try await session.data(for: request, limit: 8) }

        let failing = URLRequest("https://mock.test/fails")
        let calls: [(String, () async throws -> Void)] = [
            ("data", { _ = try await session.data(for: failing) }), ("bytes", { _ = try await session.bytes(for: failing) }),
            ("download", { _ = try await session.download(for: failing) }),
            ("upload", { _ = try await session.upload(for: URLRequest("https://mock.test/fails", method: "POST"), from: Data()) }),
        ]
        for (name, call) in calls {
            let error = await #expect(throws: ApproovError.self, "\(name)") { try await call() }
            #expect(error?.code == .timedOut, "\(name)")
            #expect((error?.cause as? URLError)?.code == .timedOut, "\(name)")
            // The upload is a POST, which may have been executed.
            #expect(error?.isRetryable == (name != "upload"), "\(name)")
        }
    }

    @Test("A protocol class that never answers ends with the resource timeout, in every method")
    func hangingClass() async throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Mock.self]
        configuration.timeoutIntervalForResource = 70
        let session = try world.session(configuration: configuration)
        let hanging = URLRequest("https://mock.test/hangs")
        let calls: [(String, @Sendable () async throws -> Void)] = [
            ("data", { _ = try await session.data(for: hanging) }), ("bytes", { _ = try await session.bytes(for: hanging) }),
            ("download", { _ = try await session.download(for: hanging) }),
            ("upload", { _ = try await session.upload(for: URLRequest("https://mock.test/hangs", method: "POST"), from: Data()) }),
        ]
        for (name, call) in calls {
            let result = Shared<Result<Void, any Error>?>(nil)
            let task = Task { try await call() }
            let watch = Task { result.value = await task.result }
            let isBegun = await eventually { world.clock.sleeperCount == 1 }
            #expect(isBegun, "\(name)")
            world.clock.advance(by: .seconds(70))
            #expect(await eventually { result.value != nil }, "\(name)")
            task.cancel()
            await watch.value
            let error = #expect(throws: ApproovError.self, "\(name)") { try result.value?.get() }
            #expect(error?.code == .timedOut && error?.isRetryable == false, "\(name)")
        }
    }

    @Test("A `data:` URL is loaded, and the limit applies to it too")
    func dataURL() async throws {
        let session = try World().session()
        let url = try #require(URL(string: "data:text/plain,hello"))
        let (data, response) = try await session.data(from: url)
        #expect(data == Data("hello".utf8))
        #expect(response.statusCode == 200)
        await #expect(throws: ApproovError(.responseTooLarge, "")) { try await session.data(from: url, limit: 4) }
    }

    @Test("Foundation's own protocol classes claim no request")
    func builtIn() async throws {
        let world = try World()
        _ = try await world.session(configuration: .default).data(for: URLRequest("https://else.test/"))
        #expect(world.apiRequests.count == 1)
    }

    @Test("A URL with an unknown scheme is a bad request, and the transport gets nothing")
    func foreignScheme() async throws {
        let world = try World()
        let session = try world.session()
        await #expect(throws: ApproovError(.badRequest, "")) { try await session.data(for: URLRequest("unknown-scheme://x")) }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("Wrapping a session fails if an additional header cannot be sent")
    func badAdditionalHeader() throws {
        let world = try World()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X": "a\r\nb"]
        #expect(throws: ApproovError(.initializationError, "")) { try world.session(configuration: configuration) }
    }
}
