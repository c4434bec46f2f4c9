import ApproovTesting
import ArgumentParser
import Foundation
import TestTags
import Testing

@testable import ApproovCLI

/// The unit files in Packaging/systemd, with the settings files beside them.
@Suite("systemd units", .tags(.processes), .timeLimit(.minutes(5)))
struct SystemdUnitTests {
    private static let roles = ["authority", "relay", "gateway"]
    /// The path at which the Debian package installs the command.
    private static let command = "/usr/bin/approov"
    private static let verifier = URL(filePath: "/usr/bin/systemd-analyze")

    private func text(_ name: String) throws -> String {
        try String(contentsOf: Repository.root.appending(path: "Packaging/systemd/\(name)"), encoding: .utf8)
    }

    /// The values of a key, in the order of the file.
    private func values(_ key: String, in text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("\(key)=") }.map { String($0.dropFirst(key.count + 1)) }
    }

    /// The command's arguments as systemd expands them: `${NAME}` stays in its word, and `$NAME` is split into words.
    ///
    /// - Parameter role: The unit's role.
    /// - Returns: The arguments with each value that the settings file gives or suggests for the options.
    /// - Throws: An error of a file that cannot be read.
    private func commandLines(of role: String) throws -> [[String]] {
        let unit = try text("approov-\(role).service")
        // The settings that are commented out are options that an operator may want.
        let settings = try text("\(role).env").replacing("#APPROOV", with: "APPROOV").split(separator: "\n").map(String.init)
        var environment = ["CREDENTIALS_DIRECTORY": "/run/credentials/unit"]
        var options: [String] = []
        for line in values("Environment", in: unit) + settings where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            try #require(parts.count == 2)
            if parts[0] == "APPROOV_OPTIONS" { options.append(parts[1]) } else { environment[parts[0]] = parts[1] }
        }
        let words = try #require(values("ExecStart", in: unit).first).split(separator: " ").map(String.init)
        #expect(words.first == Self.command)
        return try options.map { options in
            environment["APPROOV_OPTIONS"] = options
            return try words.dropFirst().flatMap { try expanded($0, in: environment) }
        }
    }

    private func expanded(_ word: String, in environment: [String: String]) throws -> [String] {
        if let match = word.wholeMatch(of: #/\$(\w+)/#) {
            return try #require(environment[String(match.1)]).split(separator: " ").map(String.init)
        }
        return [
            try word.replacing(#/\$\{(\w+)\}/#) { match -> String in
                let value = environment[String(match.1)]
                return try #require(value)
            }
        ]
    }

    @Test(
        "The unit's command line is valid with each example of options, and the help of the command names every option in it",
        arguments: roles)
    func commandLine(role: String) async throws {
        let commandLines = try commandLines(of: role)
        #expect(try commandLines.count == text("\(role).env").matches(of: #/APPROOV_OPTIONS=/#).count && !commandLines.isEmpty)
        for arguments in commandLines {
            #expect(throws: Never.self, "approov \(arguments.joined(separator: " "))") { try ApproovCommand.parseAsRoot(arguments) }
            let help = try await Approov.run(arguments[0], "--help").output
            let words = Set(help.split { !$0.isLetter && !$0.isNumber && $0 != "-" })
            for option in arguments where option.hasPrefix("-") { #expect(words.contains(option[...]), "\(option)") }
        }
    }

    @Test("The unit needs no specifier for its credentials, which systemd knows only since version 251", arguments: roles)
    func specifiers(role: String) throws { #expect(try !text("approov-\(role).service").contains("%d")) }

    @Test("systemd accepts the unit", .enabled(if: FileManager.default.isExecutableFile(atPath: verifier.path)), arguments: roles)
    func verified(role: String) async throws {
        let folder = try TemporaryFolder()
        let unit = try text("approov-\(role).service").replacing(Self.command, with: ChildProcess.approov.path(percentEncoded: false))
        let file = try folder.write(unit, to: "approov-\(role).service")
        let run = try await ChildProcess.run(Self.verifier, ["verify", "--man=no", file], environment: ["PATH": "/usr/bin:/bin"])
        // It reports an unknown key only as a warning, so the test allows no output at all.
        #expect(run.exitCode == 0 && run.errors.isEmpty && run.output.isEmpty, "\(run.errors)\(run.output)")
    }

    @Test(
        "The unit drops privileges, protects the file system, restarts after a failure, up to a limit, and raises LimitNOFILE",
        arguments: roles)
    func hardened(role: String) throws {
        let unit = try text("approov-\(role).service")
        let settings = [
            ("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("ProtectHome", "yes"), ("PrivateTmp", "yes"),
            ("PrivateDevices", "yes"), ("CapabilityBoundingSet", ""), ("Restart", "on-failure"), ("UMask", "0077"),
            ("EnvironmentFile", "/etc/approov/\(role).env"), ("StartLimitIntervalSec", "60"), ("StartLimitBurst", "5"),
        ]
        for (key, value) in settings { #expect(values(key, in: unit) == [value], "\(key)") }
        let descriptors = try #require(values("LimitNOFILE", in: unit).first)
        #expect(Int(descriptors) ?? 0 >= 65_536)
        #expect(values("DynamicUser", in: unit) == ["yes"] || values("User", in: unit).first?.hasPrefix("approov") == true)
    }

    @Test("The Debian package creates the user that the unit names", arguments: ["authority", "gateway"])
    func user(role: String) async throws {
        let user = try #require(values("User", in: try text("approov-\(role).service")).first)
        // With these stubs the script finds no existing user or folder, and prints the user that it would create.
        let folder = try TemporaryFolder()
        for (name, body) in [("getent", "exit 2"), ("useradd", "echo \"$@\""), ("install", "")] {
            let path = try folder.write("#!/bin/sh\n\(body)\n", to: name)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        let script = Repository.root.appending(path: "Packaging/debian/postinst").path
        let run = try await ChildProcess.run(URL(filePath: "/bin/sh"), [script, "configure"], environment: ["PATH": folder.url.path])
        #expect(run.exitCode == 0)
        #expect(run.output.split(separator: "\n").contains { $0.hasSuffix(" \(user)") })
    }
}
