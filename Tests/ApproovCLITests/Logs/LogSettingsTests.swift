import ApproovTesting
import ArgumentParser
import Logging
import Testing

@testable import ApproovCLI

@Suite struct LogSettingsTests {
    @Test("LOG_LEVEL is read in any case, and an unset or empty one means the default level")
    func environment() throws {
        for name in ["info", "INFO", "Info"] {
            #expect(try LogSettings(standard: .notice, environment: ["LOG_LEVEL": name]).level == .info)
        }
        for name in ["warn", "WARN", "warning"] {
            #expect(try LogSettings(standard: .notice, environment: ["LOG_LEVEL": name]).level == .warning)
        }
        #expect(try LogSettings(standard: .notice, environment: [:]).level == .notice)
        #expect(try LogSettings(standard: .warning, environment: ["LOG_LEVEL": ""]).level == .warning)
    }

    @Test("An unknown level in LOG_LEVEL or --log-level is rejected with a list of the levels")
    func unknown() async throws {
        let failure = try #require(throws: CommandFailure.self) { try LogSettings(standard: .notice, environment: ["LOG_LEVEL": "loud"]) }
        #expect(failure.exitCode == 2 && failure.message?.contains("trace, debug, info, notice, warning, error") == true)
        let served = try await Approov.run(
            ["relay", "--listen", "127.0.0.1:0", "--gateway", "http://127.0.0.1:1"], environment: ["LOG_LEVEL": "loud"])
        #expect(served.exitCode == 2 && served.errors.contains("LOG_LEVEL"), "\(served.errors)")
        for server in ["serve", "relay", "gateway"] {
            let run = try await Approov.run(server, "--log-level", "loud")
            #expect(run.exitCode == 2 && run.errors.contains("trace, debug, info, notice, warning, error"), "\(run.errors)")
            #expect(try await Approov.run(server, "--log", "xml").exitCode == 2)
            let help = try await Approov.run(server, "--help").output
            for word in ["--log-level", "LOG_LEVEL", "notice", "--log", "json"] { #expect(help.contains(word), "\(server) \(word)") }
        }
    }

    @Test("A command without log options runs under any LOG_LEVEL, and every command under warn", arguments: ["loud", "warn"])
    func ignored(level: String) async throws {
        let run = try await Approov.run(["pin", "-get", "nowhere.pem"], environment: ["LOG_LEVEL": level])
        #expect(run.exitCode == 1 && run.errors == "approov: there is no file nowhere.pem\n", "\(run.errors)")
        #expect(throws: Never.self) { try ApproovCommand.parseAsRoot(["serve", "--log-level", "warn"]) }
    }
}
