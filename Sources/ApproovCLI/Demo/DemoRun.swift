import ApproovTesting
import Foundation
import Glibc
import UnixSignals

/// One run of the demo, in a temporary folder that is removed at the end.
struct DemoRun {
    let json: Bool

    /// What ended the run first.
    private enum End {
        case steps(areHeld: Bool)
        case signal(Int32)
    }

    /// Runs all steps.
    /// - Returns: Whether every step held.
    /// - Throws: `CommandFailure` when the run is interrupted by a signal.
    func run() async throws -> Bool {
        // Trap signals before the demo makes anything that needs cleaning up.
        // A hang-up that nohup ignores stays ignored.
        var hangUp = sigaction()
        sigaction(SIGHUP, nil, &hangUp)
        let isIgnored = unsafeBitCast(hangUp.__sigaction_handler.sa_handler, to: Int.self) == 1
        let signals = await UnixSignalsSequence(trapping: isIgnored ? [.sigint, .sigterm] : [.sigint, .sigterm, .sighup])
        let folder = FileManager.default.temporaryDirectory.appending(path: "approov-demo-\(UUID().uuidString)")
        guard mkdir(folder.path, 0o700) == 0 else {
            let reason = String(cString: strerror(errno))
            throw CommandFailure("the folder \(folder.path) cannot be made: \(reason); set TMPDIR to a folder that you may write")
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        return try await withThrowingTaskGroup(of: End.self) { group in
            group.addTask { .steps(areHeld: try await steps(in: folder)) }
            group.addTask {
                for await signal in signals { return .signal(signal.rawValue) }
                throw CancellationError()
            }
            // The first to end, a signal or the demo, ends the other. Leaving the group waits for both.
            defer { group.cancelAll() }
            switch try await group.next() {
            case .steps(let areHeld): return areHeld
            case .signal(let number):
                group.cancelAll()
                // The steps stop their servers before they end.
                while let _ = try? await group.next() {}
                // As a shell shows the signal's number.
                throw CommandFailure("interrupted", exitCode: 128 + number)
            case nil: return false
            }
        }
    }

    private func steps(in folder: URL) async throws -> Bool {
        var report = DemoReport(json: json)
        try report.begin()
        let held = try await run(in: folder, &report)
        try report.end()
        return held
    }

    private func run(in folder: URL, _ report: inout DemoReport) async throws -> Bool {
        var started: DemoWorld?
        var rotated: TestHTTPServer?
        do {
            _ = try await report.step(.start) {
                let world = try await DemoWorld.start(in: folder)
                started = world
                return ((), detail: "authority \(world.authority.url.absoluteString), API \(world.url("", port: world.api.port))")
            }
            guard let world = started else { return false }
            let app = try DemoApp(configuration: world.configurationFile, state: world.appState, roots: world.root.pem)
            let steps = DemoSteps(world: world, app: app)
            _ = try await report.step(.attestedCall) { ((), detail: try await steps.attestedCall()) }
            _ = try await report.step(.otherAuthorization) { ((), detail: try await steps.otherAuthorization()) }
            _ = try await report.step(.signedRequest) { ((), detail: try await steps.signedRequest()) }
            _ = try await report.step(.limitedUse) { ((), detail: try await steps.limitedUse()) }
            _ = try await report.step(.secureString) { ((), detail: try await steps.secureString()) }
            _ = try await report.step(.tokenRefresh) { ((), detail: try await steps.tokenRefresh()) }
            _ = try await report.step(.logOut) { ((), detail: try await steps.logOut()) }
            _ = try await report.step(.impostor) { ((), detail: try await steps.impostor()) }
            _ = try await report.step(.unregisteredExecutable) { ((), detail: try await steps.unregisteredExecutable()) }
            _ = try await report.step(.oblivious) { ((), detail: try await steps.oblivious()) }
            rotated = try await report.step(.rotatedPins) { try await steps.rotatedPins() }
            if let rotated {
                _ = try await report.step(.restartOffline) { ((), detail: try await steps.restartOffline(api: rotated)) }
            }
        } catch {
            await rotated?.stop()
            await started?.stop()
            throw error
        }
        await rotated?.stop()
        await started?.stop()
        return report.allHeld
    }
}
