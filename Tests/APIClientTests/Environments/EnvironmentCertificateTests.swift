import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import TestTags
import Testing

@testable import APIClient

// Acceptance list: S3.12, S3.17
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct EnvironmentCertificateTests {
    private let folder: TemporaryFolder
    private let root: TestCertificate

    init() throws {
        folder = try TemporaryFolder()
        root = try TestPKI.root()
    }

    private func identity(issuer: TestCertificate) throws -> ClientIdentity {
        let client = try TestPKI.leaf(hosts: ["client.test"], issuer: issuer, flaws: [.clientAuthOnly])
        return try ClientIdentity(certificates: [Certificate(der: client.der)], privateKey: .bytes(Array(client.privateKeyPEM.utf8)))
    }

    private func environment(
        _ name: String, port: Int = 443, trust: APIEnvironment.Trust = .pathValidation, pins: Set<Pin> = []
    ) throws -> APIEnvironment {
        try APIEnvironment(
            name, baseURL: try #require(URL(string: "https://localhost:\(port)/")), source: .remote(configuration: nil), trust: trust,
            pins: pins)
    }

    private func session(_ environment: APIEnvironment) throws -> EnvironmentSession {
        try EnvironmentSession(
            environment, stateDirectory: folder.url, anchors: .of(root), logger: .silent,
            makeService: { _, _ in throw CocoaError(.fileNoSuchFile) }, wrapping: { _ in .ephemeral }, configure: { _, _, _ in })
    }

    private func isAccepted(_ api: EnvironmentSession) async throws -> Bool {
        do {
            let request = URLRequest(url: api.environment.baseURL)
            return try await api.session.data(for: request).1.statusCode == 200
        } catch is ApproovError {
            return false
        }
    }

    @Test("A change of the environment changes the certificate that is offered", arguments: [false, true])
    func change(isPinned: Bool) async throws {
        let leaf = try TestPKI.leaf(hosts: ["localhost"], issuer: root)
        let clientRoots = [try TestPKI.root("First Root"), try TestPKI.root("Second Root")]
        let (trust, pins) = isPinned ? (APIEnvironment.Trust.pinned, [leaf.pin, try TestKey().pin] as Set) : (.pathValidation, [])
        var servers: [TestHTTPServer] = []
        for clientRoot in clientRoots {
            servers.append(try await TestHTTPServer.start(certificate: leaf, clientRoot: clientRoot) { _ in TestResponse() })
        }
        func environment(_ name: String, server: Int, client: Int?) throws -> APIEnvironment {
            let environment = try self.environment(name, port: servers[server].port, trust: trust, pins: pins)
            guard let client else { return environment }
            return try environment.presenting(identity(issuer: clientRoots[client]))
        }
        let api = try session(environment("first", server: 0, client: 0))
        #expect(try await isAccepted(api))
        // The second environment's certificate, and none, at the first one's server.
        try api.use(environment("other", server: 0, client: 1))
        #expect(try await !isAccepted(api))
        try api.use(environment("none", server: 0, client: nil))
        #expect(try await !isAccepted(api))
        try api.use(environment("second", server: 1, client: 1))
        #expect(try await isAccepted(api))
        try api.use(environment("first", server: 0, client: 0))
        #expect(try await isAccepted(api))
        for server in servers { await server.stop() }
    }

    @Test("A client certificate needs a server that proves its name, and with the trust pinned its key")
    func refused() throws {
        let identity = try identity(issuer: TestPKI.root("Client Root"))
        let pinned = try #require(throws: APIError.self) { try environment("a", trust: .pinned).presenting(identity) }
        #expect(pinned.code == .invalidEnvironment && pinned.message.contains("add pins"))
        #expect(try environment("a", trust: .pinned, pins: [TestKey().pin]).presenting(identity).clientIdentity === identity)
        #expect(try environment("a").clientIdentity == nil)
        guard APIEnvironment.isDebugBuild else { return }
        let error = try #require(throws: APIError.self) { try environment("a", trust: .dangerouslyDisabled).presenting(identity) }
        #expect(error.code == .invalidEnvironment && error.message.contains("use pathValidation"))
    }
}
