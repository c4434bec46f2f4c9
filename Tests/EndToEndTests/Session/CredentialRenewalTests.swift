import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTypes
import TestTags
import Testing

// Acceptance list: S3.49
/// What becomes of calls when the API no longer accepts the user's credential.
@Suite("Renewed credentials", .tags(.sockets), .timeLimit(.minutes(5)))
struct CredentialRenewalTests {
    /// Gets its tokens from a server.
    private final class Source: CredentialSource {
        private let token = Shared("expired")
        private let session: ApproovSession
        private let url: URL

        init(_ session: ApproovSession, _ url: URL) {
            self.session = session
            self.url = url
        }

        func credential() async throws -> Credential { try .bearer(token.value) }

        func renew(after refused: Credential) async throws -> Credential? {
            token.value = String(decoding: try await session.data(from: url).0, as: UTF8.self)
            return try await credential()
        }
    }

    @Test("A thousand calls with an expired credential share one renewal, and all are answered")
    func crowd() async throws {
        try await LoopbackWorld.with { world in
            let crowd = 1_000
            let renewals = Shared(0)
            let refused = Shared(0)
            let allRefused = Gate()
            let server = try await world.server { request in
                if request.path == "/token" { return TestResponse(text: "fresh-\(renewals.change { $0 += 1; return $0 })") }
                if request.headerFields[.authorization] == "Bearer fresh-1" { return TestResponse(text: request.target) }
                // No call is refused before all have been sent.
                if refused.change({
                    $0 += 1; return $0 == crowd
                }) {
                    allRefused.open()
                }
                try await allRefused.wait()
                return TestResponse(.unauthorized, headerFields: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
            }
            let plain = try await world.app { $0.bindHeader = nil }
            let host = LoopbackWorld.openHost
            let source = Source(plain.session, try world.url("/token", host: host, port: server.port))
            let app = try await world.app {
                $0.state = "other"
                $0.bindHeader = nil
                $0.interceptors = [try AuthenticatedRequests(source: source, hosts: [HostPattern(host)])]
            }
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<crowd {
                    let url = try world.url("/\(number)", host: host, port: server.port)
                    group.addTask { try await app.get(url, authorization: nil).text }
                }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(answers == Set((0..<crowd).map { "/\($0)" }))
            #expect(renewals.value == 1)
            #expect(refused.value == crowd)
            await server.stop()
        }
    }
}
