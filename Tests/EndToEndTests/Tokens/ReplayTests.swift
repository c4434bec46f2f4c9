import ApproovBase
import ApproovReplayStores
import ApproovTesting
import ApproovTokenCheck
import ApproovTokens
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Hummingbird
import TestTags
import Testing

/// An API whose handler runs once for each limited-use token.
@Suite("Limited-use tokens", .tags(.sockets), .timeLimit(.minutes(5)))
struct ReplayTests {
    private struct Answer: Sendable, Equatable {
        let status: Int
        let retryAfter: String?
    }

    private static let host = "api.test.localhost"

    private let folder: TemporaryFolder
    private let secret = AccountSecret.generate()
    private let calls = Shared(0)

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path("replay.sqlite") }

    /// A token that lives long enough for the slowest machine, so that only its use can end it.
    private func token(_ jti: String = Base64URL.encode(SystemRandom.bytes(16))) throws -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return try TokenSigner(key: .hs256(secret)).sign(TokenClaims(exp: now + 3_600, iat: now, aud: Self.host, jti: jti))
    }

    /// Starts a backend with a store, calls it, and stops it.
    private func withBackend(
        _ store: any ReplayStore, storeTimeout: Duration = .seconds(60),
        _ body: (@escaping @Sendable (String) async throws -> Answer) async throws -> Void
    ) async throws {
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        router
            .add(
                middleware: try TokenCheckMiddleware(
                    verifier: TokenVerifier(keys: [.hs256(secret)], audience: Self.host), consuming: store, storeTimeout: storeTimeout))
        router.post("payments") { [calls] _, _ in
            calls.change { $0 += 1 }
            return "paid"
        }
        // Plain HTTP/1.1 with many connections, so that as many requests as possible are in the check at once.
        let connections = try ConnectionGuard(tls: .none)
        let server = try await RunningService.start { onReady in
            Application(
                router: router, server: connections.server, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { channel in
                    guard let url = URL(string: "http://\(Self.host):\(channel.localAddress?.port ?? 0)") else { return }
                    await onReady(url)
                }, logger: .silent)
        }
        var limits = CurlTransportConfiguration()
        limits.maximumConnectionsPerHost = 256
        let transport = try CurlTransport(configuration: limits)
        let policy = TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system())
        let url = try TransportURL("http://\(Self.host):\(server.port)/payments")
        do {
            try await body { token in
                let response = try await transport.send(
                    TransportRequest(url: url, method: .post, headerFields: [.approovToken: token], policy: policy))
                _ = try await response.body.collect(upTo: 1_000)
                return Answer(status: response.status, retryAfter: response.headerFields[.retryAfter])
            }
        } catch {
            transport.shutdown()
            try? await server.stop()
            throw error
        }
        transport.shutdown()
        try await server.stop()
    }

    /// How often each status came when one token is used many times at once.
    private func statuses(
        of token: String, uses: Int, _ send: @escaping @Sendable (String) async throws -> Answer
    ) async -> [Int: Int] {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<uses {
                group.addTask {
                    do {
                        return try await send(token).status
                    } catch {
                        // A request that is not answered must not end the others in the middle.
                        Issue.record(error)
                        return 0
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
    }

    @Test("Of two thousand concurrent uses of one token one passes, and none after the backend's restart")
    func restart() async throws {
        let (token, other) = (try token(), try token())
        try await withBackend(SQLiteReplayStore(path: path)) { (send) async throws in
            #expect(await statuses(of: token, uses: 2_000, send) == [200: 1, 401: 1_999])
        }
        #expect(calls.value == 1)
        try await withBackend(SQLiteReplayStore(path: path)) { (send) async throws in
            #expect(await statuses(of: token, uses: 20, send) == [401: 20])
            #expect(try await send(other).status == 200)
        }
        #expect(calls.value == 2)
    }

    @Test("With the store in memory, one of two thousand concurrent uses passes")
    func memory() async throws {
        let token = try token()
        try await withBackend(MemoryReplayStore()) { (send) async throws in
            #expect(await statuses(of: token, uses: 2_000, send) == [200: 1, 401: 1_999])
        }
        #expect(calls.value == 1)
    }

    @Test("A store whose file is gone gives 503, for used tokens and for new ones")
    func gone() async throws {
        let token = try token()
        try await withBackend(SQLiteReplayStore(path: path)) { (send) async throws in
            #expect(try await send(token).status == 200)
            for suffix in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: path + suffix) }
            for token in [token, try self.token()] { #expect(try await send(token) == Answer(status: 503, retryAfter: "5")) }
        }
        #expect(calls.value == 1)
    }

    @Test("A full store gives 503, and still refuses the tokens that it knows")
    func full() async throws {
        try await withBackend(MemoryReplayStore(capacity: 1)) { (send) async throws in
            let first = try token()
            #expect(try await send(first).status == 200)
            #expect(try await send(token()) == Answer(status: 503, retryAfter: "5"))
            #expect(try await send(first).status == 401)
        }
        #expect(calls.value == 1)
    }

    @Test("A store that does not answer gives 503")
    func slow() async throws {
        struct StuckStore: ReplayStore {
            let gate: Gate

            func consume(_ jti: String, of issuer: String?, until end: Int64) async throws -> Bool {
                try await gate.wait()
                return true
            }
        }
        try await withBackend(StuckStore(gate: Gate()), storeTimeout: .milliseconds(20)) { (send) async throws in
            #expect(try await send(token()) == Answer(status: 503, retryAfter: "5"))
        }
        #expect(calls.value == 0)
    }
}
