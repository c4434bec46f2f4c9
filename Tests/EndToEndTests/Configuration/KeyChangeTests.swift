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

    @Test("changed twice while the app was away, it is followed over both changes, and by the next start without the authority")
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
            // What is shipped from now on follows as well.
            let shipped = try await world.authority.initialConfiguration()
            #expect(shipped.configKeys != initial.configKeys)
            #expect(try self.service(world, shipped).configuration.hosts.keys.contains(host))
        }
    }

    @Test("the authority's TLS key is replaced by its backup again and again, and an app that keeps in touch follows")
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
        // Two changes without a word between them are one too many: better no token than one from an unknown server.
        #expect(await left.fetchToken(for: url).status == .mitmDetected)
        await authority.stop()
    }

    @Test("lost, a new epoch takes over: apps of the old one keep their pins and call on, and follow with a new initial configuration")
    func newEpoch() async throws {
        try await LoopbackWorld.with { world in
            let initial = try await world.authority.initialConfiguration()
            let old = try service(world, initial)
            try await addHost(world)
            #expect(try await old.refreshConfiguration())
            let version = old.configuration.version
            try await world.authority.store.startEpoch()
            // The new epoch has overtaken the old version's number, so that it is offered, and refused.
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
