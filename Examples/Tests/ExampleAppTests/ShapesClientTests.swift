import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import Foundation
import FoundationNetworking
import Testing

@testable import ExampleApp

/// Tests the client against a real authority and a TLS server, both on loopback, with ApproovTesting.
@Suite struct ShapesClientTests {
    /// Starts an authority that protects the API of a server with this certificate, and makes the client of an app.
    private func client(
        of authority: TestAuthority, callingPort port: Int, certificate: TestCertificate, root: TestCertificate, registered: Bool = true
    ) async throws -> ShapesClient {
        try await authority.store.addHost(
            "api.localhost", settings: HostSettings(pins: [certificate.pin.description, root.pin.description], trustRoots: root.pem))
        // This process is the app: the authority accepts its executable once it is registered.
        let executable = try ExecutableMeasurement.sha256(ofFileAt: URL(filePath: "/proc/self/exe"))
        if registered { try await authority.store.addRegistration(executable, label: "tests") }
        let service = try ApproovService(
            configuration: ApproovConfiguration(try await authority.initialConfiguration()),
            stateDirectory: authority.directory.appending(path: "app"))
        let api = try #require(URL(string: "https://api.localhost:\(port)"))
        return try ShapesClient(wrapping: URLSession(configuration: .ephemeral), service: service, api: api)
    }

    /// Starts an API that verifies tokens with the authority's keys.
    private func api(of authority: TestAuthority, certificate: TestCertificate) async throws -> TestHTTPServer {
        let verifier = try authority.store.tokenVerifier(audience: "api.localhost")
        return try await TestHTTPServer.start(certificate: certificate) { request in
            let authorization = request.headerFields[.authorization] ?? ""
            let token = request.headerFields.first { $0.name.canonicalName == "approov-token" }?.value ?? ""
            guard (try? verifier.verify(token, binding: .required([authorization]))) != nil else { return TestResponse(401) }
            return TestResponse(text: "a shape for \(authorization)")
        }
    }

    @Test("The API gets a token that is bound to the user's access token")
    func boundToken() async throws {
        let authority = try await TestAuthority.start(host: "authority.localhost")
        let root = try TestPKI.root()
        let certificate = try TestPKI.leaf(hosts: ["api.localhost"], issuer: root)
        let api = try await api(of: authority, certificate: certificate)
        let client = try await client(of: authority, callingPort: api.port, certificate: certificate, root: root)

        #expect(try await client.shape(accessToken: "alice") == "a shape for Bearer alice")

        await api.stop()
        await authority.stop()
    }

    @Test("The API refuses a program that is not registered")
    func unregistered() async throws {
        let authority = try await TestAuthority.start(host: "authority.localhost")
        let root = try TestPKI.root()
        let certificate = try TestPKI.leaf(hosts: ["api.localhost"], issuer: root)
        let api = try await api(of: authority, certificate: certificate)
        let client = try await client(of: authority, callingPort: api.port, certificate: certificate, root: root, registered: false)

        await #expect(throws: ShapesClient.Refused.self) { try await client.shape(accessToken: "alice") }

        await api.stop()
        await authority.stop()
    }

    @Test("The client sends no request to a server that does not match the API's pins")
    func otherServer() async throws {
        let authority = try await TestAuthority.start(host: "authority.localhost")
        let root = try TestPKI.root()
        let certificate = try TestPKI.leaf(hosts: ["api.localhost"], issuer: root)
        // Its certificate is valid for the host, under a root that the client does not accept for it.
        let other = try TestPKI.leaf(hosts: ["api.localhost"], issuer: TestPKI.root())
        let impostor = try await TestHTTPServer.start(certificate: other) { _ in TestResponse(text: "give me your token") }
        let client = try await client(of: authority, callingPort: impostor.port, certificate: certificate, root: root)

        let error = await #expect(throws: ApproovError.self) { try await client.shape(accessToken: "alice") }
        #expect(error?.code == .pinningError)
        #expect(impostor.counters.requests == 0)

        await impostor.stop()
        await authority.stop()
    }
}
