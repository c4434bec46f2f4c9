import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("approov device, forcepass and forcefail", .tags(.processes), .timeLimit(.minutes(5)))
struct DeviceCommandTests {
    private static let id = "2vm0Dv2pM0mKKNH0kcBHcA=="
    private static let other = "AAECAwQFBgcICQoLDA0ODw=="

    private let folder: TemporaryFolder
    private let data: String

    init() throws {
        folder = try TemporaryFolder()
        data = folder.path("data")
    }

    private func approov(_ arguments: String...) async throws -> ChildProcess.Run {
        try await Approov.run(arguments + ["--data", data])
    }

    private func listed(_ arguments: String...) async throws -> [[String: String]] {
        let run = try await Approov.run(arguments + ["--json", "--data", data])
        return try #require(try run.json() as? [[String: String]], "\(run.errors)")
    }

    @Test("A device is given a policy with an expiry, listed in text and as JSON, given another one, and removed")
    func device() async throws {
        let added = try await approov("device", "-add", Self.id, "-policy", "always-pass", "-expireAfter", "30d")
        #expect(added.exitCode == 0, "\(added.errors)")
        let entry = try #require(try await listed("device", "-list").first)
        #expect(entry["deviceID"] == Self.id && entry["policy"] == "always-pass")
        let dates = try ["addedAt", "expiresAt"].map { try Date(try #require(entry[$0]), strategy: .iso8601) }
        // The two dates are taken a moment apart.
        #expect((-5...5).contains(dates[1].timeIntervalSince(dates[0]) - 30 * 86_400))
        let line = "\(Self.id)  always-pass  \(entry["addedAt"] ?? "")  expires \(entry["expiresAt"] ?? "")\n"
        #expect(added.output == line)
        #expect(try await approov("device", "-list").output == line)

        #expect(try await approov("device", "-add", Self.id, "-policy", "always-fail").exitCode == 0)
        let changed = try await listed("device", "-list")
        #expect(changed.count == 1 && changed.first?["policy"] == "always-fail" && changed.first?["expiresAt"] == nil)
        #expect(try await approov("device", "-remove", Self.id).output == "removed \(Self.id)\n")
        let empty = try await approov("device", "-list")
        #expect(empty.output.isEmpty && empty.errors.contains("no devices in \(data)"))
    }

    @Test("`forcepass` and `forcefail` do the same as `device` under the original's names, each for its own policy")
    func force() async throws {
        #expect(try await approov("forcepass", "-addDevice", Self.id, "-expireAfter", "1h").exitCode == 0)
        #expect(try await approov("forcefail", "-addDevice", Self.other).exitCode == 0)
        #expect(try await listed("forcepass", "-listDevices").map { $0["deviceID"] } == [Self.id])
        #expect(try await listed("forcefail", "-listDevices").map { $0["deviceID"] } == [Self.other])
        #expect(try await listed("device", "-list").count == 2)
        let wrong = try await approov("forcefail", "-removeDevice", Self.id)
        #expect(wrong.exitCode == 1 && wrong.errors.contains("\(Self.id) has no policy always-fail"), "\(wrong.errors)")
        #expect(try await approov("forcepass", "-removeDevice", Self.id).exitCode == 0)
        #expect(try await approov("device", "-remove", Self.other).exitCode == 0)
        let gone = try await approov("device", "-remove", Self.other)
        #expect(gone.exitCode == 1 && gone.errors.contains("see: approov device -list"), "\(gone.errors)")
    }

    @Test("An empty list names the policy, and with --json a removal is printed as an object")
    func removal() async throws {
        #expect(try await approov("forcepass", "-addDevice", Self.id).exitCode == 0)
        let none = try await approov("forcefail", "-listDevices")
        #expect(none.output.isEmpty && none.errors.contains("no devices with always-fail in \(data)"), "\(none.errors)")
        let removed = try await approov("device", "-remove", Self.id, "--json")
        #expect(try removed.json() as? [String: String] == ["change": "removed", "deviceID": Self.id])
        #expect(try await approov("forcepass", "-listDevices").errors.contains("no devices with always-pass in \(data)"))
    }

    @Test("`device -add latest` needs a store with an attestation in it")
    func noLatest() async throws {
        let missing = try await approov("device", "-add", "latest", "-policy", "always-pass")
        #expect(missing.exitCode == 1 && missing.errors.contains("storeMissing"), "\(missing.errors)")
        #expect(!FileManager.default.fileExists(atPath: data))
        #expect(try await approov("policy", "-setRejectionReasons", "off").exitCode == 0)
        let none = try await approov("forcepass", "-addDevice", "latest")
        #expect(none.exitCode == 1 && none.errors.contains("no attestation has been judged yet"), "\(none.errors)")
        #expect(try await listed("device", "-list").isEmpty)
    }

    @Test(
        "A malformed device ID, policy or time is wrong usage, and makes no store",
        arguments: [
            ["device", "-add", "AAAA", "-policy", "always-pass"], ["device", "-add", "", "-policy", "always-pass"],
            ["device", "-add", "newest", "-policy", "always-pass"], ["device", "-add", Self.id + "\n", "-policy", "always-pass"],
            ["device", "-add", Self.id], ["device", "-policy", "always-pass"], ["device", "-add", Self.id, "-policy", "sometimes"],
            ["device", "-add", Self.id, "-policy", "always-pass", "-expireAfter", "0"],
            ["device", "-add", Self.id, "-policy", "always-pass", "-expireAfter", "soon"],
            ["device", "-add", Self.id, "-policy", "always-pass", "-list"], ["device", "-list", "-expireAfter", "1d"],
            ["device", "-remove", "latest"], ["device", "-remove", Self.id, "-policy", "always-pass"],
            ["forcepass"], ["forcepass", "-addDevice", "AAAA"], ["forcefail", "-removeDevice", "latest"],
            ["forcefail", "-addDevice", Self.id, "-listDevices"], ["forcepass", "-listDevices", "-expireAfter", "1d"],
        ])
    func wrongUsage(arguments: [String]) async throws {
        let run = try await Approov.run(arguments + ["--data", data])
        #expect(run.exitCode == 2 && run.errors.hasPrefix("Error: ") && run.output.isEmpty, "\(run.errors)")
        #expect(!FileManager.default.fileExists(atPath: data))
    }
}
