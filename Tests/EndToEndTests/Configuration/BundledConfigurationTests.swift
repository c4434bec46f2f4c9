import Approov
import ApproovAuthority
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import HTTPTypes
import TestTags
import Testing

/// An app that names neither a configuration nor a state directory: a separate program, which the test copies.
@Suite("An app with default settings", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct BundledConfigurationTests {
    private let folder: TemporaryFolder
    private let app: URL
    private let working: URL

    init() throws {
        folder = try TemporaryFolder()
        working = folder.file("working")
        app = folder.file("beside/shapes-app")
        for directory in [working, app.deletingLastPathComponent()] {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        }
        try FileManager.default.copyItem(at: ChildProcess.beside("bundled-app"), to: app)
    }

    private var fileBeside: URL { app.deletingLastPathComponent().appending(path: ApproovConfiguration.fileName) }
    private var fileInWorking: URL { working.appending(path: ApproovConfiguration.fileName) }

    private func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> ChildProcess.Run {
        try await ChildProcess.run(app, arguments, in: working, environment: environment)
    }

    @Test("The configuration beside the executable precedes the one in the working directory, even if damaged")
    func places() async throws {
        let nowhere = try await run()
        #expect(nowhere.exitCode == 1)
        for text in ["configurationError", fileBeside.path, fileInWorking.path, "approov sdk -getConfig approov-initial.config"] {
            #expect(nowhere.errors.contains(text), "\(nowhere.errors)")
        }

        try Data(WriterFiles(account: "second").initial.serialized).write(to: fileInWorking)
        #expect(try await run().output == "second\n")

        let first = try WriterFiles(account: "first").initial.serialized
        try Data(first).write(to: fileBeside)
        #expect(try await run().output == "first\n")

        try Data(first.dropLast(2)).write(to: fileBeside)
        let damaged = try await run()
        #expect(damaged.exitCode == 1)
        #expect(damaged.output.isEmpty)
        #expect(damaged.errors.contains("configurationError") && damaged.errors.contains(fileBeside.path), "\(damaged.errors)")

        try FileManager.default.removeItem(at: fileBeside)
        try FileManager.default.createSymbolicLink(at: fileBeside, withDestinationURL: folder.file("missing"))
        #expect(try await run().exitCode == 1, "a dangling link counts as an unusable file")
    }

    @Test("A default session is attested and pinned, and keeps its state in $XDG_STATE_HOME or ~/.local/state")
    func session() async throws {
        try await LoopbackWorld.with { world in
            let token = try #require(HTTPField.Name("Approov-Token"))
            let api = try await world.server(key: world.keys[0]) { TestResponse(text: $0.headerFields[token] ?? "none") }
            let impostor = try await world.impostor()
            try await world.authority.store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: app), label: "shapes-app")
            try Data(try await world.authority.initialConfiguration().serialized).write(to: fileBeside)

            let state = ["XDG_STATE_HOME": folder.path("xdg")]
            let called = try await run(world.url("/", port: api.port).absoluteString, environment: state)
            #expect(called.exitCode == 0, "\(called.errors)")
            let verifier = try world.authority.store.tokenVerifier(audience: LoopbackWorld.apiHost)
            _ = try verifier.verify(called.output.trimmingCharacters(in: .newlines))
            #expect(try kept(in: "xdg/approov/shapes-app").isSuperset(of: ["installation-key", "device-id"]))

            let refused = try await run(world.url("/", port: impostor.port).absoluteString, environment: state)
            #expect(refused.exitCode == 1 && refused.errors.contains("pinMismatch"), "\(refused.errors)")
            #expect(impostor.receivedCount == 0)

            // Another home directory is another installation.
            let other = try await run(
                world.url("/", port: api.port).absoluteString, environment: ["HOME": folder.path("home"), "XDG_STATE_HOME": "relative"])
            #expect(other.exitCode == 0, "\(other.errors)")
            #expect(try kept(in: "home/.local/state/approov/shapes-app").isSuperset(of: ["installation-key", "device-id"]))
            #expect(
                try Data(contentsOf: folder.file("home/.local/state/approov/shapes-app/device-id"))
                    != Data(contentsOf: folder.file("xdg/approov/shapes-app/device-id")))
            #expect(try FileManager.default.contentsOfDirectory(atPath: working.path).isEmpty)
            await api.stop()
            await impostor.stop()
        }
    }

    private func kept(in directory: String) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: folder.path(directory)))
    }
}
