import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokenCheck
import Attestation
import Foundation
import HTTPTypes
import TestTags
import Testing

@Suite("A host that the account protects no more", .tags(.sockets), .timeLimit(.minutes(5)))
struct RemovedHostTests {
    @Test(
        "An app that calls only a host that was removed, or gets no tokens any more, learns of it with the next request",
        arguments: [true, false])
    func learns(isRemoved: Bool) async throws {
        try await LoopbackWorld.with { world in
            let open = try await world.server(key: world.keys[0]) { request in
                TestResponse(text: request.headerFields[.approovToken] == nil ? "no token" : "token")
            }
            let url = try world.url("/", port: open.port)
            let app = try await world.app()
            #expect(try await app.get(url).text == "token")
            let version = app.service.configuration.version
            app.service.forgetTokens()
            if isRemoved {
                try await world.authority.store.removeHost(LoopbackWorld.apiHost)
            } else {
                try await world.authority.store.updateHost(LoopbackWorld.apiHost) { $0.attested = false }
            }
            #expect(try await app.get(url).text == "no token")
            #expect(app.service.configuration.version > version)
            let later = await app.service.fetchToken(for: url)
            #expect(later.status == (isRemoved ? .unknownURL : .unprotectedURL))
            await open.stop()
        }
    }

    @Test("A caller of fetchToken gets the reason, and that the configuration has changed")
    func fetch() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            let url = try world.url("/")
            #expect(await app.service.fetchToken(for: url).status == .success)
            app.service.forgetTokens()
            try await world.authority.store.removeHost(LoopbackWorld.apiHost)
            let result = await app.service.fetchToken(for: url)
            #expect(result.status == .unknownURL && result.isConfigChanged && result.token.isEmpty)
        }
    }
}
