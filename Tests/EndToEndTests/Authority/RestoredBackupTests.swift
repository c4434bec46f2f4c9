import Approov
import ApproovAuthority
import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import TestTags
import Testing

@Suite("A store that was restored from a backup", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct RestoredBackupTests {
    private static let pins = [1, 2].map { "sha256/" + Base64.encode([UInt8](repeating: $0, count: 32)) }
    private let host = "api.example.com"

    @Test(
        "The authority and the app notice that the store lost changes, also if it has been changed as often since",
        arguments: [false, true])
    func noticed(isChangedSince: Bool) async throws {
        let folder = try TemporaryFolder()
        let data = folder.file("data")
        let executable = folder.file("app")
        try Data("the app".utf8).write(to: executable)
        try await change(data) { store in
            try await store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: executable), label: "app")
            try await store.addHost(host, settings: HostSettings(pins: Self.pins))
        }
        var authority = try await AuthorityProcess.start(data)
        #expect(await authority.terminate() == .exit(0))
        let initial = try await AuthorityStore(directory: data).initialConfiguration()
        try FileManager.default.copyItem(at: data, to: folder.file("backup"))

        try await change(data) { try await $0.addHost("lost.example.com", settings: HostSettings(pins: Self.pins)) }
        let state = folder.file("state")
        let app = try ApproovService(
            configuration: ApproovConfiguration(initial), stateDirectory: state,
            attester: InstallationAttester(stateDirectory: state, executable: executable))
        let url = try #require(URL(string: "https://\(host)/"))
        authority = try await AuthorityProcess.start(data, port: authority.port)
        #expect(await app.fetchToken(for: url).status == .success)
        #expect(app.configuration.hosts.keys.contains("lost.example.com"))
        #expect(await authority.terminate() == .exit(0))
        #expect(!authority.log.contains("restored"))

        try FileManager.default.removeItem(at: data)
        try FileManager.default.copyItem(at: folder.file("backup"), to: data)
        if isChangedSince {
            try await change(data) { try await $0.addHost("other.example.com", settings: HostSettings(pins: Self.pins)) }
            #expect(try AuthorityStore(directory: data).configurationVersion == app.configuration.version)
        }
        authority = try await AuthorityProcess.start(data, port: authority.port)
        let refusals = Shared<[String]>([])
        let listener = Task {
            for await event in app.configurationEvents() {
                if let refusal = event.refusal { refusals.change { $0.append(refusal.description) } }
            }
        }
        app.forgetTokens()
        #expect(await app.fetchToken(for: url).status == .success)
        #expect(authority.log.contains("apps have \(isChangedSince ? "a different" : "a newer") configuration"), "\(authority.log)")
        #expect(authority.log.contains("sdk -newEpoch"))
        // The app is in its old configuration, and says so.
        #expect(app.configuration.hosts.keys.contains("lost.example.com"))
        #expect(await eventually { refusals.value.first?.contains("sdk -newEpoch") == true })
        listener.cancel()
        #expect(await authority.terminate() == .exit(0))
    }

    /// Changes the store while no authority serves it.
    private func change(_ data: URL, _ body: (AuthorityStore) async throws -> Void) async throws {
        try await body(AuthorityStore(directory: data))
    }
}
