import Approov
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

// Acceptance list: S1.21
@Suite struct AllowedHostsTests {
    /// Counts how often it sees a request.
    private struct Witness: RequestInterceptor {
        let count = Shared(0)
        func adapt(_ request: URLRequest) async throws -> URLRequest {
            count.change { $0 += 1 }
            return request
        }
    }

    private func session(
        _ transport: any HTTPTransport, _ allowed: AllowedHosts, wrapping: URLSessionConfiguration = .ephemeral,
        _ witness: Witness = Witness()
    ) throws -> ApproovSession {
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.allowedHosts = allowed
        configuration.interceptors = [witness]
        return try ApproovSession(wrapping: URLSession(configuration: wrapping), service: nil, configuration: configuration)
    }

    private func patterns(_ texts: String...) throws -> AllowedHosts { AllowedHosts(try texts.map { try HostPattern($0) }) }

    @Test("Hosts of the list are called in any spelling, and others get nothing, before interceptors see the request")
    func list() async throws {
        let transport = InProcessTransport(status: 200)
        let witness = Witness()
        let session = try session(transport, patterns("api.example.com", "*.cdn.example.com"), witness)
        for url in ["https://api.example.com/", "https://API.Example.COM./", "http://api.example.com:8080/", "https://a.cdn.example.com/"] {
            #expect(try await session.data(for: URLRequest(url)).1.statusCode == 200)
        }
        #expect(witness.count.value == 4)
        for url in [
            "https://example.com/", "https://api.example.com.evil.test/", "https://evilapi.example.com/", "https://cdn.example.com/",
            "https://a.b.cdn.example.com/", "http://127.0.0.1/", "https://[::1]/",
        ] {
            let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest(url)) }
            #expect(error?.code == .hostNotAllowed)
            #expect(error.map { "\($0)".contains(URL(string: url)?.host() ?? "no host") } == true)
        }
        await #expect(throws: ApproovError(.badRequest, "")) {
            try await session.data(for: URLRequest("https://api.example.com@evil.test/"))
        }
        #expect(witness.count.value == 4 && transport.requests.count == 4)
        let none = try self.session(transport, AllowedHosts([]))
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await none.data(for: URLRequest("https://api.example.com/")) }
    }

    @Test("A redirect to a host that is not allowed is not followed")
    func redirect() async throws {
        let transport = InProcessTransport { request in
            TransportResponse(status: 302, headerFields: [.location: "https://other.example.com/"], url: request.url)
        }
        let session = try session(transport, patterns("api.example.com"))
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await session.data(for: URLRequest("https://api.example.com/")) }
        #expect(transport.requests.count == 1)
    }

    @Test("A closure decides by the URL, whose host is canonical")
    func predicate() async throws {
        let transport = InProcessTransport(status: 200)
        let session = try session(transport, .where { $0.host() == "api.example.com" && $0.path().hasPrefix("/v1/") })
        #expect(try await session.data(for: URLRequest("https://API.example.com./v1/x")).1.statusCode == 200)
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await session.data(for: URLRequest("https://api.example.com/v2/")) }
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Other schemes are refused while there is a list",
        arguments: ["file:///etc/passwd", "data:,x", "ftp://api.example.com/", "FILE:///x"])
    func schemes(_ url: String) async throws {
        let session = try session(InProcessTransport(status: 200), patterns("api.example.com"))
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await session.data(for: URLRequest(url)) }
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await session.download(for: URLRequest(url)) }
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await session.bytes(for: URLRequest(url)) }
    }

    /// Answers requests for mock.test and other.test, and counts all that it is asked about.
    final class Mock: URLProtocol {
        static let asked = Shared<[String]>([])
        override class func canInit(with request: URLRequest) -> Bool {
            let host = request.url?.host() ?? ""
            guard host.hasSuffix("allowed-hosts.test") else { return false }
            asked.change { $0.append(host) }
            return true
        }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
            guard let url = request.url, let response = HTTPURLResponse(url: url, statusCode: 299, httpVersion: nil, headerFields: nil)
            else {
                return
            }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocolDidFinishLoading(self)
        }
        override func stopLoading() {}
    }

    @Test("A protocol class is not asked about a request to a host that is not allowed")
    func protocolClasses() async throws {
        let wrapping = URLSessionConfiguration.ephemeral
        wrapping.protocolClasses = [Mock.self]
        let session = try session(InProcessTransport(status: 200), patterns("mock.allowed-hosts.test"), wrapping: wrapping)
        #expect(try await session.data(for: URLRequest("https://mock.allowed-hosts.test/")).1.statusCode == 299)
        await #expect(throws: ApproovError(.hostNotAllowed, "")) {
            try await session.data(for: URLRequest("https://other.allowed-hosts.test/"))
        }
        #expect(!Mock.asked.value.contains("other.allowed-hosts.test"))
    }

    @Test("A host behind a relay is checked as well, before anything is sent to the relay")
    func relay() async throws {
        var settings = HostSettings.pinned
        settings.oblivious = true
        let world = try World(hosts: ["api.test": settings])
        var configuration = ApproovSessionConfiguration()
        configuration.allowedHosts = try patterns("other.test")
        let session = try ApproovSession(
            wrapping: URLSession(configuration: .ephemeral), service: world.service,
            trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
        await #expect(throws: ApproovError(.hostNotAllowed, "")) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(world.transport.requests.isEmpty)
    }

    @Test("A session that refuses private addresses tells the transport so, and takes no proxy")
    func privateAddresses() async throws {
        let transport = InProcessTransport(status: 200)
        let allowed = AllowedHosts([try HostPattern("api.example.com")], refusesPrivateAddresses: true)
        _ = try await session(transport, allowed).data(for: URLRequest("https://api.example.com/"))
        #expect(transport.requests.map(\.options.refusesPrivateAddresses) == [true])
        let proxied = URLSessionConfiguration.ephemeral
        proxied.connectionProxyDictionary = ["HTTPSEnable": 1, "HTTPSProxy": "proxy.test", "HTTPSPort": 8_080]
        #expect(code(as: ApproovError.self) { try session(transport, allowed, wrapping: proxied) } == .initializationError)
        let failing = InProcessTransport { _ in throw TransportError(.addressRefused, "x") }
        await #expect(throws: ApproovError(.hostNotAllowed, "")) {
            try await session(failing, allowed).data(for: URLRequest("https://api.example.com/"))
        }
    }
}
