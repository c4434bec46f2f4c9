import ApproovTesting
import ArgumentParser
import Foundation
import TestTags
import Testing

@testable import ApproovCLI

@Suite("Usage of the command line", .tags(.processes), .timeLimit(.minutes(5)))
struct UsageTests {
    @Test(
        "The command exits 2 for wrong usage and says why on standard error",
        arguments: [
            ["api"], ["api", "-add"], ["api", "-list", "-remove", "a.test"], ["api", "-list", "-pin", "x"], ["nonsense"], ["call"],
            ["call", "no-url"], ["call", "ftp://a.test", "--no-attest"], ["call", "file://a.test/x", "--oblivious"],
            ["call", "https://a.test", "-H", "no colon"], ["call", "https://a.test", "-H", "two words: x"],
            ["call", "https://a.test", "-H", "X-Test: a\r\nX-Smuggled: b"], ["call", "https://a.test", "--no-attest", "--bind", "X"],
            ["call", "https://a.test", "--no-attest", "--relay", "https://r.test"],
            ["call", "https://a.test", "--no-attest", "--oblivious"],
            ["call", "https://a.test", "--relay", "https://r.test", "--key-config", "k"],
            ["pin"], ["pin", "-get", "a.test", "-check", "a.test"], ["pin", "-check", "a.test"],
            ["pin", "-check", "a.test", "--chain", "c", "--roots", "r", "--time", "yesterday"],
            ["serve", "--tls-cert", "f"], ["serve", "--listen", "nowhere"], ["serve", "--token-lifetime", "0"],
            ["serve", "--public-url", "http://a.test"], ["serve", "--demo", "--listen", "0.0.0.0:0"], ["secret"],
            ["secret", "-get", "hex"], ["secret", "-change", "-get", "base64", "--yes"], ["secret", "-change", "-previous", "--yes"],
            ["secret", "-change", "--yes", "-overlap", "soon"], ["secret", "-change", "--yes", "-overlap", "31d"],
            ["secret", "-get", "base64", "-overlap", "1h"], ["api", "-import", "f", "-list"], ["api", "-import"],
            ["registration", "-add"], ["registration", "-import", "f", "-label", "x"], ["registration", "-add", "f", "-label", "a\nb"],
            ["registration", "-add", "f", "-label", String(repeating: "l", count: 257)],
            ["registration", "-add", "f", "-expireAfter", "0"], ["registration", "-remove", "f", "-expireAfter", "1d"],
            ["token"], ["token", "-check", "a", "-type", "valid"], ["keyset", "-add", "ES256"],
            ["keyset", "-add", "none", "-kid", "k"], ["policy", "-setRejectionReasons", "maybe"],
            ["policy", "-setEnvironment"], ["policy", "-setEnvironment", "root"], ["policy", "-setEnvironment", "root", "forgive"],
            ["policy", "-setEnvironment", "app-not-registered", "ignore"],
            ["policy", "-setEnvironment", "registration-expired", "ignore"], ["policy", "-setEnvironment", "root", "reject", "ignore"],
            ["registration"], ["sdk"], ["secret", "-messageSigningKey"], ["secret", "-messageSigningKey", "get-hex"],
            ["secret", "-messageSigningKey", "change", "-change", "--yes"], ["secret", "-messageSigningKey", "change"],
            ["secret", "-messageSigningKey", "change", "--yes", "-previous"],
            ["secret", "-messageSigningKey", "get-base64url", "-overlap", "1h"],
            ["secstrings"], ["secstrings", "-addKey", "k"], ["secstrings", "-predefinedValue", "v"],
            ["secstrings", "-list", "-remove", "k"], ["secstrings", "-list", "-predefinedValue", "v"], ["customjwt", "-enable", "maybe"],
            ["keyset", "-add", "ES256", "-kid", "k", "-use", "both"], ["keyset", "-list", "-use", "custom"], ["keyset", "-getPEM", "f"],
            ["keyset", "-kid", "k"], ["keyset", "-list", "-kid", "k"], ["keyset", "-add", "ES256", "-kid", "k", "-getPEM", "f"],
            ["sdk", "-newEpoch"], ["api", "-pins", "a.test", "-enforce", "maybe"], ["api", "-list", "-enforce", "on"],
            ["api", "-pins", "a.test", "-keep"], ["api", "-add", "a.test", "-keep", "-pin", "x"],
            ["api", "-add", "a.test", "-removePin", "x"],
            ["api", "-pins", "a.test", "-pin", "x", "-removePin", "y"], ["api", "-pins", "a.test", "-pinsExpireAt", "tomorrow"],
            ["api", "-check", "a.test", "--days", "-1"], ["api", "-list", "--days", "3"], ["api", "-check", "a.test", "-pin", "x"],
            ["api", "-check", "a.test", "-list"], ["api", "-pins", "a.test", "-pinsExpireAt", "2020-01-01T00:00:00Z"],
            ["api", "-pins", "a.test", "-oblivious", "-noOblivious"], ["api", "-add", "a.test", "-noOblivious"],
            ["oblivious", "-show", "--cacert", "f"], ["sdk", "-rotateConfigKey", "-newEpoch", "--yes"],
            ["sdk", "-getConfig", "f", "--epoch", "2"],
            ["sdk", "-getConfig", "f", "-getConfigString"], ["sdk", "-getConfigString", "--json"],
            ["sdk", "-rotateConfigKey", "--authority", "https://a.test"],
        ])
    func wrongUsage(arguments: [String]) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2)
        #expect(run.errors.hasPrefix("Error: "))
        #expect(run.errors.contains("Usage: approov"))
        #expect(run.output.isEmpty)
    }

    @Test(
        "A misspelt option is named with a suggestion, whatever else is missing",
        arguments: [
            (["api", "-lst"], "; did you mean '-list'?"), (["keyset", "--lst"], "; did you mean '-list'?"),
            (["registration", "-ad", "f"], "; did you mean '-add'?"), (["sdk", "--getconfig", "f"], "; did you mean '-getConfig'?"),
            (["api", "-list", "--jsno"], "; did you mean '--json'?"), (["api", "-chek"], "; did you mean '-check'?"),
            (["device", "-polcy", "x"], "; did you mean '-policy'?"), (["forcefail", "-addDevise"], "; did you mean '-addDevice'?"),
            (["policy", "-frobnicate"], ""),
        ])
    func misspelt(arguments: [String], meant: String) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2)
        let name = try #require(arguments.last { $0.hasPrefix("-") })
        #expect(run.errors.hasPrefix("Error: unknown option '\(name)'\(meant)\nUsage: approov \(arguments[0])"), "\(run.errors)")
    }

    @Test(
        "A misspelt command is named with a suggestion, whatever follows it",
        arguments: [
            (["registraton", "-list"], "; did you mean 'registration'?"), (["servr"], "; did you mean 'serve'?"),
            (["devise", "-list"], "; did you mean 'device'?"),
            (["devkye", "-get"], "; did you mean 'devkey'?"), (["forcepas"], "; did you mean 'forcepass'?"),
            (["API", "-list"], "; did you mean 'api'?"), (["tokne", "-check", "x"], "; did you mean 'token'?"),
            (["tokne", "--help"], "; did you mean 'token'?"),
            (["frobnicate", "--json"], ""), (["hlep"], "; did you mean 'help'?"),
        ])
    func misspeltVerb(arguments: [String], meant: String) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("Error: unknown command '\(arguments[0])'\(meant)\nUsage: approov"), "\(run.errors)")
    }

    @Test("help for an unknown command is wrong usage with a suggestion, and help for a known one is its help")
    func helpOfUnknown() async throws {
        for (word, meant) in [("servr", "; did you mean 'serve'?"), ("frobnicate", "")] {
            let run = try await Approov.run("help", word)
            #expect(run.exitCode == 2 && run.output.isEmpty)
            #expect(run.errors.hasPrefix("Error: unknown command '\(word)'\(meant)\nUsage: approov"), "\(run.errors)")
        }
        for arguments in [["help"], ["help", "serve"], ["help", "help"]] {
            let run = try await Approov.run(arguments)
            #expect(run.exitCode == 0 && run.output.hasPrefix("OVERVIEW: ") && run.errors.isEmpty, "\(arguments)")
        }
    }

    @Test("A misspelt option of the program itself is named with a suggestion, and those that it has work")
    func rootOption() async throws {
        for (word, meant) in [("--verson", "; did you mean '--version'?"), ("--hepl", "; did you mean '--help'?"), ("--frobnicate", "")] {
            let run = try await Approov.run(word)
            #expect(run.exitCode == 2 && run.output.isEmpty)
            #expect(run.errors.hasPrefix("Error: unknown option '\(word)'\(meant)\nUsage: approov"), "\(run.errors)")
        }
        for word in ["--help", "-h", "--generate-completion-script=bash"] {
            #expect(try await Approov.run(word).exitCode == 0, "\(word)")
        }
    }

    @Test(
        "An option with one value that is given twice is wrong usage, in any spelling, and no value is shown",
        arguments: [
            (["registration", "-add", "f", "-label", "canary", "--label", "b"], "--label"),
            (["call", "https://a.test", "-d", "canary", "-d", "b"], "-d"),
            (["call", "https://a.test", "--state=canary", "--state", "b"], "--state"),
            (["token", "-check", "canary", "-host", "canary", "-host", "b"], "-host"),
            (["keyset", "-add", "ES256", "-kid", "k", "--data", "canary", "-kid", "k"], "-kid"),
        ])
    func repeated(arguments: [String], name: String) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("Error: \(name) is given twice; give it once.\nUsage: approov \(arguments[0])"), "\(run.errors)")
        #expect(!run.errors.contains("canary"))
    }

    @Test(
        "A value that begins with a dash is never taken for an unknown option, and no error shows it",
        arguments: [
            (["call", "https://a.test", "-d", "-canary", "--pin", "bad"], "--pin must be sha256/"),
            (["call", "https://a.test", "-H", "-canary: x", "--pin", "bad"], "--pin must be sha256/"),
            (["call", "https://a.test", "--install-key-id", "-canary"], "--install-key-id is only valid"),
            (["call", "https://a.test", "--substitute-query", "-canary", "--no-attest"], "--substitute-query are not valid"),
            (["token", "-check", "-canary", "-type", "valid"], "-type is only valid"),
            (["token", "-genExample", "a.test", "--setDataHashInToken", "--canary", "-host", "a.test"], "-host is only valid"),
            (["secstrings", "-addKey", "k", "-predefinedValue", "-canary", "-lst"], "unknown option '-lst'; did you mean '-list'?"),
        ])
    func dashedValue(arguments: [String], reason: String) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2 && run.output.isEmpty)
        #expect(run.errors.contains(reason) && !run.errors.contains("canary"), "\(run.errors)")
    }

    @Test(
        "A value right behind its option is not shown: the error names the option and asks for a separate argument",
        arguments: [
            (["call", "https://a.test", "-dcanary"], "-d"), (["call", "https://a.test", #"-d{"canary":1}"#], "-d"),
            (["call", "https://a.test", "-dx=canary"], "-d"), (["call", "https://a.test", "-vdcanary", "-i"], "-d"),
            (["call", "https://a.test", "-HAuthorization: canary"], "-H"), (["call", "-Xcanary", "https://a.test"], "-X"),
            (["call", "https://a.test", "-dcanary", "--help"], "-d"), (["call", "--frob", "--help", "-dcanary"], "-d"),
            (["call", "https://a.test", "-dcanary", "--pin", "bad"], "-d"),
            (["secstrings", "-addKey", "k", "-predefinedValuecanary"], "-predefinedValue"),
            (["secstrings", "-addKey", "k", "--predefinedValue:canary"], "--predefinedValue"),
            (["token", "-checkcanary"], "-check"),
        ])
    func joinedValue(arguments: [String], option: String) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2 && run.output.isEmpty)
        let reason = "unknown option '\(option)…'; the value of \(option) must be a separate argument"
        #expect(run.errors.hasPrefix("Error: \(reason)\nUsage: approov \(arguments[0])"), "\(run.errors)")
        #expect(!run.errors.contains("canary"), "\(run.errors)")
    }

    @Test(
        "A misspelt option that begins with another one is named as far as it is known, with a suggestion",
        arguments: [
            (["api", "-pinFrm", "f"], "'-pin…'; did you mean '-pinFrom'?"), (["api", "-lists"], "'-list…'; did you mean '-list'?"),
            (["api", "-addd", "a.test"], "'-add…'; the value of -add must be a separate argument"),
        ])
    func longerOption(arguments: [String], reason: String) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2 && run.errors.hasPrefix("Error: unknown option \(reason)\nUsage: approov api"), "\(run.errors)")
    }

    @Test("Flags of one letter may be combined, and are then no unknown option")
    func combinedFlags() async throws {
        let run = try await Approov.run("call", "https://a.test", "-iv", "--pin", "bad")
        #expect(run.exitCode == 2 && run.errors.contains("--pin must be sha256/"), "\(run.errors)")
    }

    @Test(
        "No error shows a word that the parser cannot read, that belongs to no option, or that follows a flag",
        arguments: [
            (["call", "https://a.test", "-d", "-----BEGIN canary-----"], "write OPTION=VALUE"),
            (["call", "https://a.test", "-d", "-=canary"], "write OPTION=VALUE"),
            (["secstrings", "-addKey", "k", "-predefinedValue", "---canary"], "write OPTION=VALUE"),
            (["call", "https://a.test", "-H", "Authorization: Bearer", "canary"], "a word belongs to no option"),
            (["call", "https://a.test", "-d", "two", "more", "canary"], "a word belongs to no option"),
            (["token", "-genExample", "a.test", "-setDataHashInToken", "Bearer", "canary"], "a word belongs to no option"),
            (["devkey", "-change", "-5canary"], "a word belongs to no option"),
            (["call", "https://a.test", "-d", "a", "-5canary"], "a word belongs to no option"),
            (["devkey", "-change", "canary"], "a word belongs to no option"), (["devkey", "-change=canary"], "an option takes no value"),
        ])
    func hiddenWord(arguments: [String], reason: String) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2 && run.output.isEmpty)
        #expect(run.errors.hasPrefix("Error: ") && run.errors.contains("Usage: approov \(arguments[0])"), "\(run.errors)")
        #expect(run.errors.contains(reason) && !run.errors.contains("canary"), "\(run.errors)")
    }

    @Test("A value that begins with dashes may follow its option and =")
    func dashesAfterEquals() {
        for arguments in [["secstrings", "-addKey", "k", "-predefinedValue=-----BEGIN"], ["call", "https://a.test", "-d=-----BEGIN"]] {
            #expect(throws: Never.self) { try ApproovCommand.parseAsRoot(arguments) }
        }
    }

    @Test("A public URL may have a path, and the port 0", arguments: ["https://a.test:0", "HTTPS://a.test/path/", "https://[::1]:8443"])
    func publicURL(url: String) {
        #expect(throws: Never.self) { try ApproovCommand.parseAsRoot(["serve", "--public-url", url]) }
    }

    @Test("Options that may be repeated, flags, and values that look like options are no repetition")
    func notRepeated() {
        for words in [
            ["https://a.test", "-H", "a: b", "-H", "c: d", "--bind", "A", "--bind", "C"], ["https://a.test", "-d", "-d"],
            ["https://a.test", "-H", "--state", "--state", "x"], ["https://a.test", "-v", "-v"], ["https://a.test", "-d", "x", "--", "-d"],
        ] {
            #expect(RepeatedOptions.first(in: words, of: CallCommand.self) == nil, "\(words)")
        }
    }

    @Test("The error about options that exclude each other says whether one is missing or too many are given")
    func oneOf() throws {
        func message(_ options: KeyValuePairs<String, Bool>) -> String? {
            #expect(throws: ValidationError.self) { try OneOf.check(options) }?.message
        }
        #expect(message(["-a": false, "-b": false]) == "Give one of -a or -b.")
        #expect(message(["-a": true, "-b": false, "-c": true]) == "Give only one of -a, -b or -c.")
        try OneOf.check(["-a": false, "-b": true])
    }

    @Test(
        "An error about a time names the units",
        arguments: [
            ["registration", "-add", "f", "-expireAfter", "30"],
            ["device", "-add", "latest", "-policy", "always-pass", "-expireAfter", "1w"],
            ["secret", "-change", "--yes", "-overlap", "soon"],
            ["registration", "-add", "f", "-expireAfter", "0"],
        ])
    func units(arguments: [String]) async throws {
        let run = try await Approov.run(arguments)
        #expect(run.exitCode == 2 && run.errors.contains("90s, 10m, 24h or 30d"), "\(run.errors)")
    }

    @Test("A negative number is a value, not a misspelt option")
    func negative() async throws {
        let run = try await Approov.run("api", "-check", "a.test", "--days", "-1")
        #expect(run.exitCode == 2 && !run.errors.contains("unknown option"), "\(run.errors)")
    }

    @Test("--version prints the version of the changelog's newest entry")
    func version() async throws {
        let run = try await Approov.run("--version")
        #expect(run.exitCode == 0 && run.errors.isEmpty)
        let changelog = try String(contentsOf: Repository.root.appending(path: "CHANGELOG.md"), encoding: .utf8)
        let newest = try #require(changelog.split(separator: "\n").first { $0.hasPrefix("## [") })
        #expect(run.output == "approov \(newest.dropFirst(4).prefix { $0 != "]" })\n")
    }

    @Test("Options with one dash also work with two")
    func twoDashes() async throws {
        let folder = try TemporaryFolder()
        let data = ["--data", folder.path("data")]
        #expect(try await Approov.run(["keyset", "--add", "ES256", "--kid", "k1"] + data).exitCode == 0)
        #expect(try await Approov.run(["keyset", "--list"] + data).output.hasPrefix("k1  ES256  "))
        #expect(try await Approov.run(["api", "--list"] + data).exitCode == 0)
    }

    @Test(
        "The error for a wrong --listen names the mistake",
        arguments: [
            ("8443", "the host is missing"), ("localhost", "the port is missing"), ("127.0.0.1:80000", "0 to 65535"),
            ("::1:8443", "in brackets"), (":8443", "the host is missing"),
        ])
    func listen(address: String, reason: String) async throws {
        let run = try await Approov.run("serve", "--listen", address)
        #expect(run.exitCode == 2 && run.errors.contains(reason), "\(run.errors)")
    }

    @Test(
        "Every command has a help text",
        arguments: [
            "demo", "serve", "relay", "gateway", "call", "api", "oblivious", "sdk", "registration", "token", "secret", "keyset", "policy",
            "pin", "device", "forcepass", "forcefail", "devkey", "secstrings", "customjwt",
        ])
    func help(command: String) async throws {
        let run = try await Approov.run(command, "--help")
        #expect(run.exitCode == 0)
        #expect(run.output.hasPrefix("OVERVIEW: "))
        #expect(run.output.contains("USAGE: approov \(command)"))
        #expect(run.errors.isEmpty)
    }

    @Test(
        "The help of a command has examples, and each example is a valid command line",
        arguments: [
            "demo", "api", "sdk", "registration", "token", "secret", "keyset", "policy", "pin", "device", "forcepass", "forcefail",
            "devkey",
            "secstrings", "customjwt",
        ])
    func examples(command: String) async throws {
        let help = try await Approov.run(command, "--help").output
        let examples = try #require(help.components(separatedBy: "Examples:\n").dropFirst().first?.components(separatedBy: "\n\n").first)
        let lines = examples.replacing(#/ \\\n +/#, with: " ").split(separator: "\n").filter { $0.contains("approov \(command)") }
        #expect(!lines.isEmpty)
        for line in lines {
            // Text before and after the command is for the shell.
            let start = try #require(line.range(of: "approov \(command)")).lowerBound
            let words = line[start...].components(separatedBy: " > ")[0].matches(of: #/(?:"[^"]*"|[^ "])+/#)
            let arguments = words.dropFirst().map { String($0.output.replacing("\"", with: "")) }
            #expect(throws: Never.self, "\(line)") { try ApproovCommand.parseAsRoot(arguments) }
        }
    }

    @Test("Without a command the program lists the commands")
    func overview() async throws {
        let run = try await Approov.run()
        #expect(run.exitCode == 0)
        #expect(run.output.contains("SUBCOMMANDS:"))
    }

    @Test("If standard output cannot be written, the command exits 1, with no message if the reader has left")
    func outputIsGone() async throws {
        let folder = try TemporaryFolder()
        func run(to output: FileHandle) async throws -> ChildProcess.Run {
            try await Approov.start(["policy", "--data", folder.path("data")], output: output).wait()
        }
        #expect(try await Approov.run("policy", "-setRejectionReasons", "off", "--data", folder.path("data")).exitCode == 0)
        let full = try await run(to: try #require(FileHandle(forWritingAtPath: "/dev/full")))
        #expect(full.end == .exit(1))
        #expect(full.errors.hasPrefix("approov: standard output cannot be written"))
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let closed = try await run(to: pipe.fileHandleForWriting)
        #expect(closed.end == .exit(1))
        #expect(closed.errors.isEmpty, "\(closed.errors)")
    }
}
