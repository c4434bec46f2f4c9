import ApproovTesting
import ArgumentParser
import Foundation
import Glibc
import TestTags
import Testing

@testable import ApproovCLI

@Suite("approov demo", .tags(.processes, .slow), .timeLimit(.minutes(5)), .serialized)
struct DemoTests {
    private struct Line: Decodable {
        let step: String
        let ok: Bool
        let detail: String
        let milliseconds: Double
    }

    private static let steps = [
        "start", "attested-call", "other-authorization", "signed-request", "limited-use", "secure-string", "token-refresh",
        "log-out", "impostor", "unregistered-executable", "oblivious", "rotated-pins", "restart-offline",
    ]

    @Test("Every step succeeds, --json prints one object for each, and the demo leaves no file behind")
    func demo() async throws {
        let folder = try TemporaryFolder()
        let run = try await Approov.run(["demo", "--json"], environment: ["TMPDIR": folder.url.path(percentEncoded: false)])
        #expect(run.exitCode == 0)
        let lines = try run.lines.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(lines.map(\.step) == Self.steps)
        for line in lines {
            #expect(line.ok, "\(line.step): \(line.detail)")
            #expect(!line.detail.isEmpty)
            #expect(line.milliseconds > 0)
        }
        for text in run.lines {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            #expect(object.keys.sorted() == ["detail", "milliseconds", "ok", "step"])
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty)
    }

    @Test("The demo prints a heading, what each step proves, how many steps succeeded, and commands to try next")
    func text() async throws {
        let run = try await Approov.run("demo")
        #expect(run.exitCode == 0 && run.errors.isEmpty, "\(run.errors)")
        #expect(run.lines.first == "approov demo: the whole system on this machine")
        let steps = run.lines.filter { $0.hasPrefix("ok   ") }
        #expect(steps.count == DemoStep.allCases.count && !run.output.contains("FAIL"))
        for (line, step) in zip(steps, DemoStep.allCases) {
            #expect(line.hasPrefix("ok   \(step.claim): ") && line.contains(#/ \([0-9.]+ ms\)$/#), "\(line)")
        }
        #expect(run.lines.contains("\(DemoStep.allCases.count) of \(DemoStep.allCases.count) steps succeeded."))
        let next = try #require(run.output.components(separatedBy: "Try next").last)
        try await carryOut(next.split(separator: "\n").filter { $0.hasPrefix("  ") }.map { $0.dropFirst(2) })
    }

    /// A port that no program of this machine uses now.
    private func freePort() throws -> UInt16 {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && getsockname(socket, $0, &length) == 0
            }
        }
        try #require(isBound)
        return UInt16(bigEndian: address.sin_port)
    }

    /// Gives the lines to a shell as they are printed, with free ports, and checks the outcome of the last one.
    private func carryOut(_ lines: [Substring]) async throws {
        #expect(lines.count(where: { $0.hasPrefix("approov ") }) == 5)
        let folder = try TemporaryFolder()
        let (authority, api) = (try freePort(), try freePort())
        let script = lines.joined(separator: "\n")
            // Other programs of this machine may use the ports of the text.
            .replacing("approov serve &", with: "approov serve --listen 127.0.0.1:\(authority) > ready & servers=$!")
            .replacing("9443", with: "\(api)")
            .replacing("-cert api.pem -key api.key &", with: "-cert api.pem -key api.key & servers=\"$servers $!\"")
            // A running authority applies a change within a second, and a person is slower than that.
            .replacing("\napproov call ", with: "\nsleep 3\napproov call ")
            // A person is slower than the servers.
            .replacing(
                "approov api ",
                with: "until [ -s ready ] && (exec 3<>/dev/tcp/127.0.0.1/\(api)) 2> /dev/null; do sleep 0.1; done\napproov api ")
        let directory = ChildProcess.approov.deletingLastPathComponent().path(percentEncoded: false)
        _ = try folder.write("set -e\n" + "trap 'kill $servers' EXIT\n" + script + "\n", to: "try")
        let run = try await ChildProcess.run(
            URL(filePath: "/bin/bash"), ["try"], in: folder.url,
            environment: ["HOME": folder.url.path(percentEncoded: false), "PATH": "\(directory):/usr/bin:/bin"])
        #expect(run.exitCode == 0 && run.errors.contains("* api.localhost: "), "\(run.errors)")
    }

    @Test("A failed step is marked FAIL, the summary counts and names it, and the exit code is 1")
    func failure() async throws {
        // The authority rejects the evidence of a demo that runs with foreign code.
        let run = try await Approov.run(["demo"], environment: ["LD_PRELOAD": "libc.so.6"])
        #expect(run.exitCode == 1)
        #expect(run.lines.contains { $0.hasPrefix("FAIL \(DemoStep.attestedCall.claim): the API answered 401") }, "\(run.output)")
        let summary = try #require(run.lines.first { $0.contains(" of \(DemoStep.allCases.count) steps succeeded. Failed: ") })
        #expect(summary.contains("attested-call") && !summary.hasPrefix("\(DemoStep.allCases.count) "))
        #expect(!run.output.contains("Try next"))
    }

    @Test("A temporary folder that cannot be written is an error that says to set TMPDIR")
    func noFolder() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("", to: "file")
        let run = try await Approov.run(["demo"], environment: ["TMPDIR": file])
        #expect(run.exitCode == 1)
        #expect(
            run.errors.hasPrefix("approov: the folder \(file)/approov-demo-")
                && run.errors.hasSuffix("set TMPDIR to a folder that you may write\n"), "\(run.errors)")
    }

    @Test("The demo leaves no file behind when it is interrupted at any moment", arguments: [30, 300, 700, 1100, 1700])
    func interrupted(milliseconds: Int) async throws {
        let folder = try TemporaryFolder()
        let process = try Approov.start(["demo"], environment: ["TMPDIR": folder.url.path(percentEncoded: false)])
        try await Task.sleep(for: .milliseconds(milliseconds))
        process.signal(SIGINT)
        let end = await process.wait().end
        // Until the handler is installed, SIGINT itself ends the process, which has made no file yet.
        #expect([.signal(SIGINT), .exit(130), .exit(0)].contains(end))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty)
    }

    @Test(
        "The demo leaves no file behind when the terminal hangs up or it is told to end, and its exit code names the signal",
        arguments: [SIGHUP, SIGINT, SIGTERM])
    func hangUp(signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let process = try Approov.start(["demo"], environment: ["TMPDIR": folder.url.path(percentEncoded: false)])
        while try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty {
            try await Task.sleep(for: .milliseconds(5))
        }
        process.signal(signal)
        #expect(await process.wait().end == .exit(128 + signal))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty)
    }

    @Test("The demo leaves no file behind when its output cannot be written")
    func unwritable() async throws {
        let folder = try TemporaryFolder()
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let process = try Approov.start(["demo", "--json"], environment: ["TMPDIR": folder.url.path(percentEncoded: false)], output: full)
        let run = await process.wait()
        #expect(run.end == .exit(1) && run.errors.contains("standard output cannot be written"), "\(run.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path(percentEncoded: false)).isEmpty)
    }
}
