import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Foundation
import FoundationNetworking
import HTTPTypes
import TestTags
import Testing

/// What the app's policy changes about requests on the wire.
@Suite("A policy", .tags(.sockets), .timeLimit(.minutes(5)))
struct PolicyTests {
    /// Sends requests with the status while the authority does not work, and marks every request.
    private struct Lenient: AttestationPolicy {
        func decide(_ result: TokenFetchResult, for request: URLRequest) async throws -> TokenDecision {
            switch result.status {
            case .noApproovService: .sendWithout(status: true)
            default: try await StandardPolicy().decide(result, for: request)
            }
        }

        func didPrepare(_ request: URLRequest, changes: RequestChanges) async throws -> URLRequest {
            var request = request
            request.setValue(changes.tokenHeader ?? "none", forHTTPHeaderField: "X-Policy")
            return request
        }
    }

    @Test("The API sees the token, or the status while the authority does not work, and neither on an excluded URL")
    func onTheWire() async throws {
        try await LoopbackWorld.with { world in
            try await AuthorityFront.with(world) { front in
                let seen = Shared<[HTTPFields]>([])
                let api = try await world.server(key: world.keys[0]) { request in
                    seen.change { $0.append(request.headerFields) }
                    return TestResponse(text: "")
                }
                do {
                    let mark = try #require(HTTPField.Name("X-Policy"))
                    let app = try await world.app {
                        $0.front = front
                        $0.configuration.policy = Lenient()
                        $0.configuration.excludedURLs = [
                            try URLGlob("https://\(LoopbackWorld.apiHost):\(api.port)/public/**")
                        ]
                    }
                    front.behavior = .fault { connection in
                        _ = try await connection.receiveHead()
                        try await connection.send("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    }
                    #expect(try await app.get(world.url("/shapes", port: api.port)).status == 200)
                    #expect(seen.value.last?[.approovToken] == "NO_APPROOV_SERVICE")
                    #expect(seen.value.last?[mark] == "Approov-Token")
                    #expect(try await app.get(world.url("/public/shapes", port: api.port)).status == 200)
                    #expect(seen.value.last?[.approovToken] == nil && seen.value.last?[mark] == nil)
                    front.behavior = .forward
                    let other = try await world.app {
                        $0.state = "other"
                        $0.front = front
                        $0.configuration.policy = Lenient()
                    }
                    #expect(try await other.get(world.url("/shapes", port: api.port)).status == 200)
                    let token = try Token(seen.value.last?[.approovToken] ?? "")
                    #expect(token.isSigned(with: world.authority.store.accountSecret.bytes))
                    #expect(seen.value.last?[mark] == "Approov-Token")
                } catch {
                    await api.stop()
                    throw error
                }
                await api.stop()
            }
        }
    }
}
