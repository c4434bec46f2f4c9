import ApproovTesting
import Crypto
import Foundation
import TestTags
import Testing

@Suite("approov registration", .tags(.processes), .timeLimit(.minutes(5)))
struct RegistrationCommandTests {
    private let folder: TemporaryFolder
    private let data: String

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(["registration"] + arguments + ["--data", data])
    }

    private func digest(_ text: String) -> SHA256.Digest { SHA256.hash(data: Data(text.utf8)) }
    private func base64(_ text: String) -> String { Data(digest(text)).base64EncodedString() }
    private func hexadecimal(_ text: String) -> String { digest(text).map { String(format: "%02x", $0) }.joined() }

    private func listed() async throws -> [[String: String]] {
        try #require(try await approov("-list", "--json").json() as? [[String: String]])
    }

    @Test("Files and measurements are registered in one call, and listed by date and label, with dates in UTC")
    func several() async throws {
        let (one, two) = (try folder.write("1", to: "z-app"), try folder.write("2", to: "a-app"))
        let added = try await approov("-add", one, two, base64("3"))
        #expect(added.exitCode == 0 && added.lines.count == 3, "\(added.errors)")
        let entries = try await listed()
        #expect(Set(entries.map { $0["measurement"] ?? "" }) == Set(["1", "2", "3"].map(base64)))
        #expect(entries.map { $0["label"] } == ["", "a-app", "z-app"])
        for entry in entries { #expect(try #require(entry["addedAt"]).wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil) }
        let lines = try await approov("-list").lines
        #expect(lines.last == "\(base64("1"))  \(entries.last?["addedAt"] ?? "")  z-app")
    }

    @Test("Control characters in a file's name are replaced, so that they cannot control the terminal")
    func controlCharacters() async throws {
        let file = try folder.write("1", to: "a\u{1B}[2Jb")
        #expect(try await approov("-add", file).lines.first?.hasSuffix("  a?[2Jb") == true)
        #expect(try await listed().first?["label"] == "a?[2Jb")
    }

    @Test("If one of several executables is missing, none is registered")
    func allOrNothing() async throws {
        let one = try folder.write("1", to: "app")
        let run = try await approov("-add", one, folder.path("missing"))
        #expect(run.exitCode == 1 && run.errors.contains("missing"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: data), "a store was made")
    }

    @Test("-import reads lines of sha256sum and -list, from a file or standard input; a repeat changes no entry")
    func importLines() async throws {
        let file = try folder.write(
            """
            # the build of today
            \(hexadecimal("1"))  build/app

            \(base64("2"))   1.4.2 (beta)
            \(base64("3"))
            \(hexadecimal("1")) build/app\r

            """, to: "lines")
        let first = try #require(try await approov("-import", file, "--json").json() as? [String: Int])
        #expect(first == ["added": 3, "relabelled": 0, "expiryChanged": 0, "unchanged": 0])
        let entries = try await listed()
        #expect(entries.map { $0["label"] } == ["", "1.4.2 (beta)", "build/app"])
        _ = try folder.write(try await approov("-list").output, to: "list")
        let script = "exec \"$0\" registration -import - --data \"$1\" < \"$2\""
        let again = try await ChildProcess.run(
            URL(filePath: "/bin/sh"), ["-c", script, ChildProcess.approov.path(percentEncoded: false), data, folder.path("list")],
            environment: ["HOME": "/nonexistent"])
        #expect(again.output == "added 0, relabelled 0, unchanged 3\n", "\(again.errors)")
        #expect(try await listed() == entries)
        #expect(try await approov("-remove", hexadecimal("1")).output == "removed \(base64("1"))\n")
    }

    @Test(
        "A wrong line is reported with its number, and no measurement is registered",
        arguments: [
            ("AAAA app", "44 characters"), ("\u{1B}[2J", "44 characters"), ("%1  a\u{7}b", "control character"), ("%0  other", "line 1"),
            ("%1  expires 2027-01-31 beta build", "the word after expires is not a time in RFC 3339, such as 2027-01-31T12:00:00Z"),
            ("%1  expires 1969-12-31T23:59:59Z  old", "the time after expires must be after the beginning of 1970"),
            ("%1  expires 9999-12-31T23:59:59-23:59  old", "the word after expires is not a time in RFC 3339"),
            ("%1  2026-01-01T00:00:00Z  expired 2026-02-30T00:00:00Z  old", "the word after expired is not a time in RFC 3339"),
        ])
    func wrongLine(line: String, reason: String) async throws {
        let text = line.replacing("%0", with: base64("0")).replacing("%1", with: base64("1"))
        let file = try folder.write("\(base64("0"))  app\n\(text)\n", to: "lines")
        let run = try await approov("-import", file)
        #expect(run.exitCode == 1 && run.errors.contains("lines, line 2: ") && run.errors.contains(reason), "\(run.errors)")
        #expect(!run.errors.contains("\u{1B}") && !FileManager.default.fileExists(atPath: data))
    }

    @Test("A registration's expiry is listed beside its date, in text and as JSON, and registering again removes it")
    func expiry() async throws {
        let app = try folder.write("1", to: "app")
        let added = try await approov("-add", app, "-expireAfter", "90d", "-label", "beta")
        #expect(added.exitCode == 0, "\(added.errors)")
        let entry = try #require(try await listed().first)
        let (addedAt, expiresAt) = (try #require(entry["addedAt"]), try #require(entry["expiresAt"]))
        let dates = try [addedAt, expiresAt].map { try Date($0, strategy: .iso8601) }
        // The two dates are taken a moment apart.
        #expect((-5...5).contains(dates[1].timeIntervalSince(dates[0]) - 90 * 86_400))
        #expect(added.output == "\(base64("1"))  \(addedAt)  expires \(expiresAt)  beta\n")
        #expect(try await approov("-list").output == added.output)
        #expect(try await approov("-add", app).output == "\(base64("1"))  \(addedAt)  app\n")
        #expect(try await listed().first?["expiresAt"] == nil)
    }

    @Test("An expired registration is listed as such, and a list is imported with its expiries and without a change")
    func importExpiry() async throws {
        let lines = [
            "\(base64("1"))  2026-01-01T00:00:00Z  expired 2026-01-02T00:00:00Z  old beta",
            "\(base64("2"))  2026-01-01T00:00:00Z  expires 9999-01-02T00:00:00Z  ",
            "\(base64("3"))  expires soon",
        ]
        let file = try folder.write(lines.joined(separator: "\n") + "\n", to: "lines")
        #expect(try await approov("-import", file).output == "added 3, relabelled 0, unchanged 0\n")
        let entries = try await listed()
        #expect(entries.map { $0["label"] } == ["", "expires soon", "old beta"])
        #expect(entries.map { $0["expiresAt"] } == ["9999-01-02T00:00:00Z", nil, "2026-01-02T00:00:00Z"])
        let list = try await approov("-list")
        #expect(list.lines.last?.hasSuffix("  expired 2026-01-02T00:00:00Z  old beta") == true)
        #expect(try await approov("-import", folder.write(list.output, to: "list")).output == "added 0, relabelled 0, unchanged 3\n")
        let clash = try folder.write(lines[0] + "\n" + lines[0].replacing("01-02", with: "01-03") + "\n", to: "clash")
        let run = try await approov("-import", clash)
        #expect(run.exitCode == 1 && run.errors.contains("line 1 has the same measurement with another label or expiry"), "\(run.errors)")
    }

    @Test("An import keeps the expiry of a registration unless its line has one, and says what changed")
    func keptExpiry() async throws {
        #expect(try await approov("-add", base64("1"), "-expireAfter", "90d", "-label", "beta").exitCode == 0)
        let expiresAt = try #require(try await listed().first?["expiresAt"])
        func imported(_ line: String) async throws -> String {
            try await approov("-import", folder.write(line + "\n", to: "lines")).output
        }
        #expect(try await imported("\(hexadecimal("1"))  app") == "added 0, relabelled 1, unchanged 0\n")
        #expect(try await listed().first?["expiresAt"] == expiresAt)
        #expect(try await imported("\(hexadecimal("1"))  app") == "added 0, relabelled 0, unchanged 1\n")
        let later = "\(base64("1"))  expires 9999-01-02T00:00:00Z  app"
        #expect(try await imported(later) == "added 0, relabelled 0, with another expiry 1, unchanged 0\n")
        #expect(try await listed().first?["expiresAt"] == "9999-01-02T00:00:00Z")
    }

    @Test("An import says that expired registrations are valid again, and a removal is an object with --json")
    func renewed() async throws {
        #expect(try await approov("-add", base64("1"), "-expireAfter", "1s", "-label", "beta").exitCode == 0)
        let end = try Date(#require(try await listed().first?["expiresAt"]), strategy: .iso8601)
        while Date() < end { try await Task.sleep(for: .milliseconds(100)) }
        let run = try await approov("-import", folder.write("\(hexadecimal("1"))  beta\n", to: "lines"))
        #expect(
            run.output == "added 0, relabelled 0, with another expiry 1 (had expired and are valid again: 1), unchanged 0\n",
            "\(run.errors)")
        let removed = try #require(try await approov("-remove", base64("1"), "--json").json() as? [String: String])
        #expect(removed == ["measurement": base64("1"), "change": "removed"])
    }

    @Test("A file without an entry is an error, and makes no store", arguments: ["", "\n", "# today's build\n\n"])
    func noEntries(text: String) async throws {
        let run = try await approov("-import", folder.write(text, to: "lines"))
        #expect(run.exitCode == 1 && run.output.isEmpty && run.errors.contains("lines has no entries"), "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test(
        "A malformed expiry, or one without -add, is wrong usage, and makes no store",
        arguments: ["0", "0s", "-1d", "90", "soon", "3651d", "99999999999d", ""])
    func wrongExpiry(time: String) async throws {
        let app = try folder.write("1", to: "app")
        #expect(try await approov("-add", app, "-expireAfter", time).exitCode == 2)
        #expect(try await approov("-list", "-expireAfter", "90d").exitCode == 2)
        #expect(!FileManager.default.fileExists(atPath: data))
    }
}
