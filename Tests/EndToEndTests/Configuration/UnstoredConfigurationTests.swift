import Approov
import ApproovAuthority
import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import TestTags
import Testing

/// A pin is revoked while the new configuration cannot be stored.
@Suite("A revoked pin while the configuration cannot be stored", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct UnstoredConfigurationTests {
    /// Pins two keys that are not the API's.
    private func revoke(_ world: LoopbackWorld) async throws {
        try await world.authority.store.setPins(world.keys[1...2].map(\.pin.description), forHost: LoopbackWorld.apiHost)
    }

    @Test("While another process holds the lock, the app refuses the revoked key at once and stores later")
    func locked() async throws {
        try await LoopbackWorld.with { world in
            let app = try await world.app { $0.state = "locked" }
            let state = world.folder.file("locked")
            #expect(try await app.get(world.url("/shapes")).status == 200)
            let before = app.service.configuration.version
            let held = try HeldLock(state.appending(path: "approov-dynamic.lock").path(percentEncoded: false))
            try await revoke(world)
            // This must not wait for the lock, which is released only below.
            #expect(try await app.service.refreshConfiguration())
            let requests = world.api.counters.requests
            #expect(try await app.failure(of: world.url("/shapes")).refusal?.reason == .pinMismatch)
            #expect(world.api.counters.requests == requests)
            #expect(app.service.configuration.version > before)
            held.release()
            #expect(await app.service.finishStoring())
            let restarted = try await world.app { $0.state = "locked" }
            #expect(restarted.service.configuration.version == app.service.configuration.version)
        }
    }

    /// Whether this user may mount a small disk.
    private static func mayMount() async -> Bool {
        let mount = ["-m", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
        guard geteuid() == 0 else { return false }
        return (try? await ChildProcess.run(URL(filePath: "/usr/bin/unshare"), mount).exitCode) == 0
    }

    @Test(
        "With a full or read-only disk, the app refuses the revoked key at once and reports the failure to store",
        .enabled("only root may mount a small disk: no disk was filled", mayMount),
        arguments: ["dd if=/dev/zero of=\"$D/filler\" bs=4k 2>/dev/null", "mount -o remount,ro \"$D\""])
    func disk(_ spoil: String) async throws {
        try await LoopbackWorld.with { world in
            try await world.authority.store.addRegistration(ExecutableMeasurement.sha256(ofFileAt: ChildProcess.approov), label: "approov")
            let disk = world.folder.file("disk")
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let config = try world.folder.write(try await world.authority.initialConfiguration().serialized, to: "config")
            let roots = try world.folder.write(world.root.pem, to: "roots.pem")
            let script = """
                set -u; D=\(disk.path(percentEncoded: false)); mount -t tmpfs -o size=128k,mode=0700 tmpfs "$D" || exit 99
                call() { "$1" call "$2" --config "$3" --state "$D/state" --cacert "$4" --bind Authorization -H 'Authorization: Bearer alice' ; }
                call "$@" > /dev/null || exit 1
                \(spoil)
                echo spoilt
                while [ ! -e "$5" ]; do sleep 0.05; done
                call "$@"; echo "exit $?"
                """
            let revoked = world.folder.path("revoked")
            let process = try ChildProcess(
                URL(filePath: "/usr/bin/unshare"),
                [
                    "-m", "/bin/sh", "-c", script, "sh", ChildProcess.approov.path(percentEncoded: false),
                    world.url("/shapes").absoluteString,
                    config, roots, revoked,
                ])
            _ = try await process.waitForOutput { $0.contains("spoilt") }
            let requests = world.api.counters.requests
            try await revoke(world)
            try world.folder.write("", to: "revoked")
            let run = await process.wait()
            #expect(run.output.hasSuffix("exit 60\n"), "\(run.output) \(run.errors)")
            #expect(run.errors.contains("is in force but could not be stored"), "\(run.errors)")
            #expect(world.api.counters.requests == requests)
        }
    }
}
