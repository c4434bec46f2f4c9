import Approov
import ApproovBase
import ApproovTesting
import Foundation
import OAuth2
import TestTags
import Testing

// Acceptance list: S2.117
@Suite("Processes that share a token store", .tags(.sockets, .processes, .slow))
struct SharedStoreTests {
    @Test(
        "Four processes share tokens of a server that revokes a refresh token used twice: no user is logged out",
        arguments: [(rounds: 25, count: 4), (rounds: 1, count: 250)])
    func fourProcesses(rounds: Int, count: Int) async throws {
        let server = try await RotatingServer()
        let folder = try TemporaryFolder()
        let (tokens, key) = (folder.path("tokens"), folder.path("keys/k"))
        let store = FileTokenStore(directory: folder.file("tokens"), key: .file(folder.file("keys/k")))
        let credentials = try server.credentials(store)
        try await credentials.logIn(Samples.token("a0", refresh: "r0", life: -60))
        let roots = try folder.write(server.root.pem, to: "roots.pem")
        let url = server.url
        let runs = try await withThrowingTaskGroup(of: ChildProcess.Run.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await ChildProcess.run(
                        ChildProcess.beside("oauth2-worker"), ["requests", tokens, key, roots, url, "\(rounds)", "\(count)"])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for run in runs {
            #expect(run.exitCode == 0, "\(run.errors)")
            #expect(run.output == String(repeating: "200\n", count: rounds * count))
        }
        let state = server.state.value
        #expect(!state.isRevoked && state.answers == 4 * rounds * count)
        // The first process that leaps to a round renews the token, and the others take it when they come there: by their clocks it is
        // valid. A process that is behind never renews a token of one that is ahead, because that token expires later.
        #expect(state.refreshes == rounds)
        #expect(try await credentials.token().refreshToken == "r\(state.current)")
        await server.stop()
    }

    @Test("Without a common store the same server ends the log-in")
    func separateStores() async throws {
        let server = try await RotatingServer()
        let (first, second) = (try server.credentials(MemoryTokenStore()), try server.credentials(MemoryTokenStore()))
        for credentials in [first, second] { try await credentials.logIn(Samples.token("a0", refresh: "r0", life: -60)) }
        #expect(try await first.token().accessToken == "a1")
        #expect(await codeThrown(as: OAuth2Error.self) { try await second.token() } == .loginRequired)
        #expect(server.state.value.isRevoked)
        await server.stop()
    }
}
