import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Testing

@testable import Approov

/// A session whose credential a holder holds.
func session(
    in world: World, _ holder: CredentialHolder, hosts: [String] = ["api.test"], bindHeader: String? = "Authorization",
    unbound: UnboundRequests = .refused, wrapping: URLSessionConfiguration = .ephemeral,
    change: (inout ApproovSessionConfiguration) -> Void = { _ in }
) throws -> ApproovSession {
    var configuration = ApproovSessionConfiguration()
    configuration.credential = .header("Authorization", holder, for: try hosts.map { try HostPattern($0) })
    configuration.bindHeader = bindHeader
    configuration.unboundRequests = unbound
    change(&configuration)
    return try ApproovSession(
        wrapping: URLSession(configuration: wrapping), service: world.service,
        trustManager: ApproovTrustManager(anchors: .of(world.account.root), logger: .silent), configuration: configuration)
}

// Acceptance list: S1.1, S1.5, S1.6, S1.7, S1.17, S3.4
@Suite struct CredentialStationTests {
    private func world() throws -> World { try World(hosts: ["api.test": .pinned, "other.test": .pinned]) }

    @Test("Requests to the credential's hosts carry its present value, and the token is bound to it")
    func carried() async throws {
        let world = try world()
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: world, holder)
        _ = try await session.data(for: URLRequest("https://api.test/"))
        try holder.update("Bearer bob")
        _ = try await session.data(for: URLRequest("https://API.test./"))
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Bearer alice", "Bearer bob"])
        for request in world.apiRequests {
            let token = try #require(request.headerFields[.approovToken])
            #expect(try pay(ofToken: token) == Binding.payHash(of: try #require(request.headerFields[.authorization])))
        }
    }

    @Test(
        "A host that is not named gets no credential, and neither does one that a redirect leads to, nor a named one after that",
        arguments: ["Authorization", "X-Auth-Token", "User-Agent"])
    func otherHosts(header: String) async throws {
        let world = try world()
        world.api.value = { request in
            let locations = [
                "/out": "https://other.test/back", "/back": "https://api.test/end", "/port": "https://api.test:444/end", "/same": "/end",
            ]
            let next = locations[request.url.target]
            return TransportResponse(status: next == nil ? 200 : 307, headerFields: next.map { [.location: $0] } ?? [:], url: request.url)
        }
        let holder = try CredentialHolder("Bearer alice")
        let session = try session(in: world, holder, bindHeader: nil) {
            $0.credential = .header(header, holder, for: $0.credential?.hosts ?? [])
        }
        for url in ["https://other.test/", "https://api.test.other.test/"] { _ = try await session.data(for: URLRequest(url)) }
        for url in ["https://api.test/out", "https://api.test/port", "https://api.test/same"] {
            _ = try await session.data(for: URLRequest(url, [header: "stale"]))
        }
        let name = try #require(HTTPField.Name(header))
        let carried = world.apiRequests.filter { $0.headerFields.contains(name) }
        #expect(
            carried.map(\.url.text) == ["https://api.test/out", "https://api.test/port", "https://api.test/same", "https://api.test/end"])
        #expect(carried.allSatisfy { $0.headerFields[values: name] == ["Bearer alice"] })
        #expect(world.apiRequests.count == 9)
    }

    @Test("Without a user, a request fails before any I/O unless it is exempt, and an exempt one keeps its own header")
    func missing() async throws {
        let world = try world()
        let holder = try CredentialHolder()
        let session = try session(in: world, holder, unbound: .allowedWhere { $0.url?.path() == "/login" })
        let error = await #expect(throws: ApproovError.self) { try await session.data(for: URLRequest("https://api.test/")) }
        #expect(error?.code == .credentialMissing)
        #expect(world.transport.requests.isEmpty)
        _ = try await session.data(for: URLRequest("https://api.test/login", ["authorization": "Basic own"]))
        _ = try await session.data(for: URLRequest("https://api.test/login"))
        try holder.update("Bearer alice")
        _ = try await session.data(for: URLRequest("https://api.test/login", ["Authorization": "Basic own"]))
        #expect(world.apiRequests.map { $0.headerFields[.authorization] } == ["Basic own", nil, "Basic own"])
    }

    @Test("The credential replaces a header of the request's own, in whatever case, also for interceptors")
    func replaced() async throws {
        struct Witness: RequestInterceptor {
            let seen: Shared<[[String: String]]>
            func adapt(_ request: URLRequest) async throws -> URLRequest {
                seen.change { $0.append(request.allHTTPHeaderFields ?? [:]) }
                return request
            }
        }
        let world = try world()
        let seen = Shared<[[String: String]]>([])
        let session = try session(in: world, CredentialHolder("Bearer alice")) { $0.interceptors = [Witness(seen: seen)] }
        _ = try await session.data(for: URLRequest("https://api.test/", ["authorization": "Bearer stale", "X-Own": "1"]))
        #expect(seen.value == [["Authorization": "Bearer alice", "X-Own": "1"]])
        #expect(world.apiRequests.map { $0.headerFields[values: .authorization] } == [["Bearer alice"]])
    }

    @Test("A credential's host over plain http gets no request")
    func plain() async throws {
        let transport = InProcessTransport(status: 200)
        var configuration = ApproovSessionConfiguration.over(transport)
        configuration.credential = .header("Authorization", try CredentialHolder("Bearer a"), for: [try HostPattern("api.test")])
        let session = try ApproovSession(service: nil, configuration: configuration)
        await #expect(throws: ApproovError(.credentialRefused, "")) { try await session.data(for: URLRequest("http://api.test/")) }
        #expect(transport.requests.isEmpty)
    }

    @Test("A session with a credential for no host, or with a malformed name, cannot be made")
    func malformed() throws {
        let world = try world()
        #expect(code(as: ApproovError.self) { try session(in: world, CredentialHolder(), hosts: []) } == .initializationError)
        #expect(
            code(as: ApproovError.self) {
                try session(in: world, CredentialHolder()) {
                    $0.credential = .header("a b", $0.credential!.holder, for: $0.credential!.hosts)
                }
            } == .initializationError)
    }
}
