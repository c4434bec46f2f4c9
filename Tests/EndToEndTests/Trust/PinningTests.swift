import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import TestTags
import Testing

// Acceptance list: S1.25, S2.17, S3.2
/// The servers that protected calls may reach, while pins change.
@Suite("Pins", .tags(.sockets), .timeLimit(.minutes(5)))
struct PinningTests {
    @Test("An impostor with another key under the same root receives no byte of HTTP")
    func impostor() async throws {
        try await LoopbackWorld.with { world in
            let impostor = try await world.impostor()
            let app = try await world.app()
            let url = try world.url("/shapes", port: impostor.port)
            let error = try await app.failure(of: url)
            #expect(error.code == .pinningError)
            #expect(error.refusal?.reason == .pinMismatch)
            #expect(!error.isRetryable)
            #expect(impostor.counters.connections > 0)
            #expect(impostor.receivedCount == 0)
            // The control: without pins the impostor is trusted, so the pins caused the failure.
            #expect(try await world.plainStatus(url, token: nil, authorization: nil) == 200)
            await impostor.stop()
        }
    }

    @Test("A running app follows changed pins: it calls the server with the new key and refuses the old one")
    func rotation() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app()
            #expect(try await app.get(world.url("/shapes")).status == 200)
            let renewed = try await world.server(key: world.keys[2]) { _ in TestResponse(text: "renewed") }
            let url = try world.url("/shapes", port: renewed.port)
            #expect(try await app.failure(of: url).refusal?.reason == .pinMismatch)
            #expect(renewed.counters.requests == 0)

            let version = app.service.configuration.version
            try await world.authority.store.setPins(world.keys.suffix(2).map(\.pin.description), forHost: LoopbackWorld.apiHost)
            // Another user's first call: the authority's answer contains the new pins and the token.
            #expect(try await app.get(url, authorization: "Bearer bob").text == "renewed")
            #expect(app.service.configuration.version > version)
            let requests = world.api.counters.requests
            #expect(try await app.failure(of: world.url("/shapes")).refusal?.reason == .pinMismatch)
            #expect(world.api.counters.requests == requests)
            await renewed.stop()
        }
    }

    @Test("An app restarted while the authority is down is still pinned by its stored configuration")
    func restartOffline() async throws {
        try await LoopbackWorld.with { world in
            // A host that the authority adds after the app shipped.
            let late = "late.test.localhost"
            let server = try await TestHTTPServer.start(
                certificate: TestPKI.leaf(hosts: [late], issuer: world.root, key: world.keys[0])
            ) { _ in TestResponse(text: "late") }
            let impostor = try await RawServer.start(certificate: TestPKI.leaf(hosts: [late], issuer: world.root)) {
                await $0.waitForClose()
            }
            let shipped = try await world.authority.initialConfiguration()
            try await world.authority.store.addHost(
                late, settings: HostSettings(pins: world.keys.prefix(2).map(\.pin.description), attested: false, trustRoots: world.root.pem)
            )
            let first = try restarted(world, shipped)
            #expect(try await first.get(world.url("/shapes")).status == 200)
            #expect(first.service.configuration.hosts.keys.contains(late))

            await world.authority.stop(removingStore: false)
            let second = try restarted(world, shipped)
            #expect(try await second.get(world.url("/", host: late, port: server.port)).text == "late")
            let refused = try await second.failure(of: world.url("/", host: late, port: impostor.port))
            #expect(refused.refusal?.reason == .pinMismatch)
            #expect(impostor.receivedCount == 0)
            let requests = world.api.counters.requests
            #expect(try await second.failure(of: world.url("/shapes")).isRetryable)
            #expect(world.api.counters.requests == requests)
            await server.stop()
            await impostor.stop()
        }
    }

    /// The app, started with the configuration that it shipped with.
    private func restarted(_ world: LoopbackWorld, _ shipped: InitialConfiguration) throws -> App {
        let state = world.folder.file("shipped")
        let service = try ApproovService(
            configuration: ApproovConfiguration(shipped), stateDirectory: state,
            attester: InstallationAttester(stateDirectory: state, executable: world.executable))
        let session = try ApproovSession(
            service: service, trustManager: ApproovTrustManager(anchors: TrustAnchors(pem: world.root.pem)),
            bindHeader: LoopbackWorld.bindingHeader)
        return App(service: service, session: session)
    }

    @Test("A pinning error names presented and expected keys, cause and remedy in one line, and contains no secret")
    func errorContainsTheFix() async throws {
        try await LoopbackWorld.with { world in
            let intermediate = try TestPKI.intermediate(issuer: world.root)
            let leaf = try TestPKI.leaf(hosts: LoopbackWorld.names, issuer: intermediate)
            let impostor = try await RawServer.start(certificate: leaf) { await $0.waitForClose() }
            let app = try await world.app()
            let url = try world.url("/shapes?secret=query", port: impostor.port)
            let error = try await app.failure(of: url, authorization: "Bearer alice-secret")
            #expect(error.code == .pinningError)
            let text = error.description
            #expect(!text.contains("\n") && text.hasPrefix("pinningError: "))
            for part in [
                "\(LoopbackWorld.apiHost) is refused", "pinMismatch", "no key of the validated path is pinned",
                "add the first of the presented pins",
                "\(leaf.pin) (CN=\(LoopbackWorld.apiHost))", "\(intermediate.pin) (", "\(world.root.pin) (",
                "expected one of: ", "\(world.keys[0].pin)", "\(world.keys[1].pin)",
            ] { #expect(text.contains(part), "\(part) is not in: \(text)") }
            // The presented keys are in the order of the path.
            let places = [leaf.pin, intermediate.pin, world.root.pin].compactMap { text.range(of: $0.description)?.lowerBound }
            #expect(places.count == 3 && places == places.sorted())
            for secret in ["alice-secret", "secret=query", "eyJ"] { #expect(!text.contains(secret)) }
            // Programs need not parse the text.
            let refusal = try #require(error.refusal)
            #expect(refusal.presented.map(\.pin) == [leaf.pin, intermediate.pin, world.root.pin])
            #expect(Set(refusal.expected) == Set(world.keys.prefix(2).map(\.pin)))
            await impostor.stop()
        }
    }

    @Test("When pins change, 200 requests in flight finish, and no new request to the old key starts")
    func changeInFlight() async throws {
        try await LoopbackWorld.with { world in
            let (arrived, gate) = (Shared(0), Gate())
            let server = try await world.server(key: world.keys[0]) { _ in
                arrived.change { $0 += 1 }
                try await gate.wait()
                return TestResponse(text: "old")
            }
            let app = try await world.app()
            let url = try world.url("/", port: server.port)
            try await withThrowingTaskGroup { group in
                for _ in 0..<200 { group.addTask { try await app.get(url) } }
                try #require(await eventually { arrived.value == 200 })
                try await world.authority.store.setPins(world.keys.suffix(2).map(\.pin.description), forHost: LoopbackWorld.apiHost)
                #expect(try await app.service.refreshConfiguration())
                // Connections of the old policy are still open and have free streams, but no new request may use them.
                #expect(try await app.failure(of: url).refusal?.reason == .pinMismatch)
                gate.open()
                for try await answer in group { #expect(answer.text == "old") }
            }
            #expect(try await app.failure(of: url).refusal?.reason == .pinMismatch)
            #expect(server.counters.requests == 200)
            await server.stop()
        }
    }

    @Test("While pins change, each request follows either the old pins or the new ones")
    func changeUnderLoad() async throws {
        try await LoopbackWorld.with { world in
            let server = try await world.server(key: world.keys[0]) { _ in TestResponse(text: "old") }
            let app = try await world.app()
            let url = try world.url("/", port: server.port)
            #expect(try await app.get(url).status == 200)
            let begun = Shared(0)
            let outcomes = try await withThrowingTaskGroup(of: [Bool].self) { group in
                for _ in 0..<10 {
                    group.addTask {
                        var answered: [Bool] = []
                        // Until it is refused, and for a few calls more.
                        while answered.count < 1_000, answered.suffix(5).contains(true) || answered.count < 5 {
                            do {
                                answered.append(try await app.get(url).status == 200)
                            } catch let error as ApproovError where error.refusal?.reason == .pinMismatch {
                                answered.append(false)
                            }
                            if answered.count == 1 { begun.change { $0 += 1 } }
                        }
                        return answered
                    }
                }
                try #require(await eventually { begun.value == 10 })
                try await world.authority.store.setPins(world.keys.suffix(2).map(\.pin.description), forHost: LoopbackWorld.apiHost)
                _ = try await app.service.refreshConfiguration()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for answered in outcomes { #expect(answered.first == true && answered.last == false) }
            // Each worker gets answers, then only refusals, and the server got only the answered requests.
            for answered in outcomes { #expect(answered == answered.filter { $0 } + answered.filter { !$0 }) }
            #expect(server.counters.requests == 1 + outcomes.joined().filter { $0 }.count)
            await server.stop()
        }
    }
}
