import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import TestTags
import Testing

@Suite("The key that signs configurations", .tags(.sockets), .timeLimit(.minutes(5)))
struct KeyChangeTests {
    private let host = "late.test.localhost"

    private func addHost(_ world: LoopbackWorld) async throws {
        try await world.authority.store.addHost(
            host, settings: HostSettings(pins: world.keys.prefix(2).map(\.pin.description), trustRoots: world.root.pem))
    }

    private func service(_ world: LoopbackWorld, _ initial: InitialConfiguration) throws -> ApproovService {
        let state = world.folder.file("key-change")
        return try ApproovService(
            configuration: ApproovConfiguration(initial), stateDirectory: state,
            attester: InstallationAttester(stateDirectory: state, executable: world.executable))
    }

    @Test("An app follows two key changes in one refresh, and its next start has the new version in force")
    func rotation() async throws {
        try await LoopbackWorld.with { world in
            let initial = try await world.authority.initialConfiguration()
            let service = try service(world, initial)
            try await world.authority.store.rotateConfigurationKey()
            try await world.authority.store.rotateConfigurationKey()
            try await addHost(world)
            #expect(try await service.refreshConfiguration())
            #expect(service.configuration.hosts.keys.contains(host))
            let version = service.configuration.version
            #expect(try self.service(world, initial).configuration.version == version)
            // An app that ships with a new initial configuration follows as well.
            let shipped = try await world.authority.initialConfiguration()
            #expect(shipped.configKeys != initial.configKeys)
            #expect(try self.service(world, shipped).configuration.hosts.keys.contains(host))
        }
    }

    @Test("An app in regular contact follows the authority's TLS key changes; one that missed two gets no token")
    func serverKey() async throws {
        let folder = try TemporaryFolder()
        let executable = folder.file("app")
        try Data("the app".utf8).write(to: executable)
        var authority = try await TestAuthority.start(directory: folder.file("authority"))
        try await authority.store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: executable), label: "app")
        try await authority.store.addHost(host, settings: HostSettings(pins: [TestKey().pin.description, TestKey().pin.description]))
        let initial = try await authority.initialConfiguration()
        let state = folder.file("state")
        let service = try ApproovService(
            configuration: ApproovConfiguration(initial), stateDirectory: state,
            attester: InstallationAttester(stateDirectory: state, executable: executable))
        let left = try ApproovService(
            configuration: ApproovConfiguration(initial), stateDirectory: folder.file("left"),
            attester: InstallationAttester(stateDirectory: folder.file("left"), executable: executable))
        let url = try #require(URL(string: "https://\(host)/"))
        for round in 1...2 {
            let pins = try await authority.store.rotateServerKey().pins
            await authority.stop(removingStore: false)
            authority = try await TestAuthority.start(directory: folder.file("authority"), port: authority.url.port ?? 0)
            #expect(await service.fetchToken(for: url, binding: "\(round)").status == .success)
            #expect(service.configuration.authorityPins == pins)
        }
        // After two changes without contact, the app knows no key of the server, and must not accept its token.
        #expect(await left.fetchToken(for: url).status == .mitmDetected)
        await authority.stop()
    }

    @Test("Apps of an old epoch still get tokens, and move to a new epoch with a new initial configuration")
    func newEpoch() async throws {
        try await LoopbackWorld.with { world in
            let initial = try await world.authority.initialConfiguration()
            let old = try service(world, initial)
            try await addHost(world)
            #expect(try await old.refreshConfiguration())
            let version = old.configuration.version
            try await world.authority.store.startEpoch()
            // Raise the new epoch's version above the old one, so that the authority offers it and the app refuses it.
            while world.authority.store.configurationVersion <= version {
                try await world.authority.store.updateHost(LoopbackWorld.otherHost) { $0.attested.toggle() }
            }
            var events = old.configurationEvents().makeAsyncIterator()
            _ = await events.next()
            #expect(try await !old.refreshConfiguration())
            #expect(await events.next()?.refusal != nil)
            #expect(old.configuration.version == version && old.configuration.epoch == 1)
            #expect(await old.fetchToken(for: try world.url("/shapes"), binding: "x").status == .success)

            let renewed = try service(world, try await world.authority.initialConfiguration())
            #expect(renewed.configuration.epoch == 2)
            try await world.authority.store.removeHost(host)
            #expect(try await renewed.refreshConfiguration())
            #expect(!renewed.configuration.hosts.keys.contains(host))
            let names = try FileManager.default.contentsOfDirectory(atPath: world.folder.path("key-change"))
            #expect(names.contains("approov-dynamic.json") && names.contains("approov-dynamic.json.refused"))
        }
    }
}
