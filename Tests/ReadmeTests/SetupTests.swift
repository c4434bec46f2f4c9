import ApproovTesting
import Foundation
import TestTags
import Testing

/// Runs Scripts/setup with fakes of all commands that it calls; the fakes record the calls.
@Suite(.tags(.processes)) struct SetupTests {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Scripts/setup").path

    /// What only tests and the Debian package need.
    private static let testTools: Set<String> = ["strace", "dbus-daemon", "gnome-keyring-daemon", "dpkg-shlibdeps", "objdump"]

    /// The state of the machine, besides Debian's packages.
    private struct Machine {
        var isRoot = true
        var commands = testTools.union(["apt-get", "dpkg-query", "git", "sudo"])
        var missing: Set<String> = []
        /// Whether the toolchain finds the libraries that it is linked with.
        var swiftStarts = true
    }

    private func run(_ machine: Machine) async throws -> (run: ChildProcess.Run, calls: [String]) {
        let folder = try TemporaryFolder()
        let log = folder.path("calls")
        let fakes = [
            "swift": "exit \(machine.swiftStarts ? 0 : 127)",
            "git": "",
            "strace": "",
            "dbus-daemon": "",
            "gnome-keyring-daemon": "",
            "dpkg-shlibdeps": "",
            "objdump": "",
            "id": "echo \(machine.isRoot ? 0 : 1_000)",
            "dpkg-query": """
            for package in \(machine.missing.sorted().joined(separator: " ")); do [ "$3" = "$package" ] && exit 1; done
            printf 'install ok installed'
            """,
            "apt-get": "echo apt-get \"$@\" >>\(log)",
            "sudo": "echo sudo \"$@\" >>\(log); [ \"$1\" = -n ] && shift; exec \"$@\"",
            "env": "shift; exec \"$@\"",
        ]
        for (name, body) in fakes where machine.commands.union(["swift", "id", "env"]).contains(name) {
            let path = folder.path(name)
            try Data("#!/bin/sh\n\(body)\n".utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        let run = try await ChildProcess.run(URL(filePath: "/bin/bash"), [Self.script], environment: ["PATH": folder.url.path])
        let calls = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return (run, calls.split(separator: "\n").map(String.init))
    }

    @Test("With everything installed, the script installs nothing and prints nothing")
    func nothingToDo() async throws {
        let (run, calls) = try await run(Machine())
        #expect(run.exitCode == 0 && run.output.isEmpty && run.errors.isEmpty)
        #expect(calls.isEmpty)
    }

    @Test("The script installs missing packages, as root or with sudo, and removes nothing", arguments: [true, false])
    func installs(isRoot: Bool) async throws {
        let (run, calls) = try await run(Machine(isRoot: isRoot, missing: ["libjwt-dev", "libpsl-dev"]))
        #expect(run.exitCode == 0)
        let installation = "apt-get install -y -qq --no-install-recommends --no-remove libjwt-dev libpsl-dev"
        #expect(calls.contains(installation) && calls.contains("apt-get update -qq"))
        #expect(calls.contains { $0.hasPrefix("sudo") } != isRoot)
    }

    @Test("If `swift` does not start, the script installs the packages that an unpacked toolchain needs")
    func bareToolchain() async throws {
        let machine = Machine(commands: Self.testTools.union(["apt-get", "dpkg-query"]), swiftStarts: false)
        let (run, calls) = try await run(machine)
        #expect(run.exitCode == 0)
        #expect(calls.contains { $0.hasPrefix("apt-get install ") && $0.hasSuffix(" libncurses-dev libxml2-dev git") })
    }

    @Test("Without root and sudo, the script prints the exact command and fails")
    func noRights() async throws {
        let machine = Machine(isRoot: false, commands: Self.testTools.union(["apt-get", "dpkg-query", "git"]), missing: ["libjwt-dev"])
        let (run, calls) = try await run(machine)
        #expect(run.exitCode == 1 && calls.isEmpty)
        #expect(run.errors.contains("apt-get update && apt-get install -y libjwt-dev\n"))
    }

    @Test("Without apt-get, the script names what to install and fails")
    func elsewhere() async throws {
        let (run, calls) = try await run(Machine(commands: ["strace"]))
        #expect(run.exitCode == 1 && calls.isEmpty)
        #expect(run.errors.contains("libjwt") && run.errors.contains("run as root"))
    }

    @Test("If only tools of the tests are missing and cannot be installed, the script prints the command and succeeds")
    func onlyTestTools() async throws {
        let (run, _) = try await run(Machine(isRoot: false, commands: ["apt-get", "dpkg-query", "git"]))
        #expect(run.exitCode == 0)
        #expect(run.errors.contains("apt-get install -y strace dbus gnome-keyring dpkg-dev binutils"))
    }
}
