import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Glibc
import Testing

@Suite struct InstallationAttesterTests {
    private let folder: TemporaryFolder
    private let request = EvidenceRequest(
        challenge: "Y2hhbGxlbmdl", audience: "https://authority.example.com", account: "test-account", host: "api.example.com",
        sdkVersion: "1.0.0", configVersion: 1)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func attester(executable: URL? = nil) throws -> InstallationAttester {
        try InstallationAttester(stateDirectory: folder.url, executable: executable, appID: "app", appVersion: "3")
    }

    private func mode(_ name: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test("The installation keeps its key and device ID across restarts, in files of mode 0600")
    func restart() async throws {
        let first = try attester()
        let second = try attester()
        #expect(first.deviceID == second.deviceID)
        #expect(try folder.names == ["device-id", "installation-key"])
        #expect(try mode("device-id") == 0o600)
        #expect(try mode("installation-key") == 0o600)
        let text = try String(contentsOfFile: folder.path("device-id"), encoding: .utf8)
        #expect(text == first.deviceID.base64 + "\n")
        let one = try VerifiedEvidence(verifying: try await first.evidence(for: request))
        let two = try VerifiedEvidence(verifying: try await second.evidence(for: request))
        #expect(one.installationKey.rawRepresentation == two.installationKey.rawRepresentation)
    }

    @Test("A missing state directory is created for its owner only")
    func makesFolder() throws {
        let deep = folder.url.appending(path: "a/b")
        _ = try InstallationAttester(stateDirectory: deep)
        let attributes = try FileManager.default.attributesOfItem(atPath: deep.path(percentEncoded: false))
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    @Test("Evidence answers the request and measures the running executable")
    func evidence() async throws {
        let verified = try VerifiedEvidence(verifying: try await attester().evidence(for: request))
        let evidence = verified.evidence
        #expect(evidence.challenge == request.challenge)
        #expect(evidence.aud == request.audience)
        #expect(evidence.host == request.host)
        #expect(evidence.payHash == nil)
        #expect(evidence.appID == "app")
        #expect(evidence.appVersion == "3")
        #expect(evidence.configVersion == 1)
        #expect(abs(TimeInterval(evidence.iat) - Date().timeIntervalSince1970) < 60)
        let executable = try ExecutableMeasurement.sha256(ofFileAt: URL(fileURLWithPath: "/proc/self/exe"))
        #expect(evidence.measurements == [Evidence.executableMeasurement: executable])
    }

    @Test("The attester measures the executable only once, even for 50 requests at the same time")
    func measuredOnce() async throws {
        let file = folder.url.appending(path: "program")
        try Data("one".utf8).write(to: file)
        let attester = try attester(executable: file)
        let request = request
        let measurements = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try VerifiedEvidence(verifying: try await attester.evidence(for: request)).evidence.measurements["executable"]
                }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(measurements == [Binding.payHash(of: "one")])
        try Data("two".utf8).write(to: file)
        let again = try VerifiedEvidence(verifying: try await attester.evidence(for: request))
        #expect(again.evidence.measurements["executable"] == Binding.payHash(of: "one"))
    }

    @Test("The attester measures the executable that it finds when it is made, not the one at the first request")
    func measuresEarly() async throws {
        let file = folder.url.appending(path: "program")
        try Data("one".utf8).write(to: file)
        let attester = try attester(executable: file)
        try await attester.finishMeasuring()
        try Data("two".utf8).write(to: file)
        let verified = try VerifiedEvidence(verifying: try await attester.evidence(for: request))
        #expect(verified.evidence.measurements["executable"] == Binding.payHash(of: "one"))
    }

    @Test("A measurement that failed before the first request is repeated by that request")
    func earlyFailure() async throws {
        let file = folder.url.appending(path: "program")
        #expect(mkfifo(file.path(percentEncoded: false), 0o600) == 0)
        let attester = try attester(executable: file)
        #expect(await codeThrown(as: AttestationError.self) { try await attester.finishMeasuring() } == .measurementFailed)
        #expect(unlink(file.path(percentEncoded: false)) == 0)
        try Data("one".utf8).write(to: file)
        let verified = try VerifiedEvidence(verifying: try await attester.evidence(for: request))
        #expect(verified.evidence.measurements["executable"] == Binding.payHash(of: "one"))
    }

    @Test("A cancelled first request does not end the measurement: the next one gets evidence")
    func cancelled() async throws {
        let file = folder.url.appending(path: "program")
        try Data("one".utf8).write(to: file)
        let (attester, request) = (try attester(executable: file), request)
        let first = Task { try await attester.evidence(for: request) }
        first.cancel()
        _ = await first.result
        // Another measurement would find this.
        try Data("two".utf8).write(to: file)
        let verified = try VerifiedEvidence(verifying: try await attester.evidence(for: request))
        #expect(verified.evidence.measurements["executable"] == Binding.payHash(of: "one"))
    }

    @Test("The attester measures again after a measurement failed")
    func measurementFails() async throws {
        let file = folder.url.appending(path: "program")
        let attester = try attester(executable: file)
        #expect(await codeThrown(as: AttestationError.self) { try await attester.evidence(for: request) } == .measurementFailed)
        try Data("one".utf8).write(to: file)
        _ = try await attester.evidence(for: request)
    }

    @Test("Attesters that start at the same time end up with the same key", arguments: 0..<5)
    func race(round: Int) async throws {
        let url = folder.url
        let devices = try await withThrowingTaskGroup(of: DeviceID.self) { group in
            for _ in 0..<16 { group.addTask { try InstallationAttester(stateDirectory: url).deviceID } }
            return try await group.reduce(into: Set<DeviceID>()) { $0.insert($1) }
        }
        #expect(devices.count == 1)
        #expect(try folder.names == ["device-id", "installation-key"])
    }

    @Test(
        "A key file that others may access is rejected, and the error names its path and the remedy",
        arguments: [0o640, 0o604, 0o666, 0o777, 0o620])
    func modes(mode: Int) throws {
        _ = try attester()
        #expect(chmod(folder.path("installation-key"), mode_t(mode)) == 0)
        let error = try #require(throws: FileError.self) { try attester() }
        #expect(error.code == .fileUnsafe)
        #expect(error.message.contains(folder.path("installation-key")))
        #expect(error.message.contains("chmod 600"))
    }

    @Test("A link, a FIFO or a folder instead of the key file is rejected", arguments: ["link", "fifo", "folder", "dangling"])
    func notAFile(kind: String) throws {
        _ = try attester()
        let path = folder.path("installation-key")
        switch kind {
        case "link":
            #expect(rename(path, folder.path("elsewhere")) == 0)
            #expect(symlink(folder.path("elsewhere"), path) == 0)
        case "dangling":
            #expect(unlink(path) == 0)
            #expect(symlink(folder.path("nowhere"), path) == 0)
        case "fifo":
            #expect(unlink(path) == 0)
            #expect(mkfifo(path, 0o600) == 0)
        default:
            #expect(unlink(path) == 0)
            #expect(mkdir(path, 0o700) == 0)
        }
        let error = try #require(throws: FileError.self) { try attester() }
        #expect(error.code == .fileUnsafe, "\(error)")
        #expect(error.message.contains(path))
    }

    @Test("A key file of another user is rejected", .enabled(if: geteuid() == 0, "only root can give files away"))
    func owner() throws {
        _ = try attester()
        #expect(chown(folder.path("installation-key"), 65_534, 65_534) == 0)
        let error = try #require(throws: FileError.self) { try attester() }
        #expect(error.code == .fileUnsafe)
        #expect(error.message.contains("65534"))
    }

    @Test("A key file with invalid content is rejected, and the error does not contain that content")
    func content() throws {
        _ = try attester()
        for content in ["", "secret-content", P384.Signing.PrivateKey().pemRepresentation, String(repeating: "x", count: 100_000)] {
            #expect(
                FileManager.default.createFile(
                    atPath: folder.path("installation-key"), contents: Data(content.utf8), attributes: [.posixPermissions: 0o600]))
            let error = try #require(throws: (any Error).self) { try attester() }
            #expect(
                (error as? AttestationError)?.code == .malformedKey || (error as? FileError)?.code == .tooLarge, "\(error)")
            #expect(!"\(error)".contains("secret-content"))
        }
    }

    @Test("A device ID file that does not match the key is rejected; a missing one is not")
    func deviceID() throws {
        _ = try attester()
        let other = DeviceID(installationKey: P256.Signing.PrivateKey().publicKey).base64 + "\n"
        try Data(other.utf8).write(to: folder.url.appending(path: "device-id"))
        #expect(code { try attester() } == .fileUnreadable)
        #expect(unlink(folder.path("device-id")) == 0)
        _ = try attester()
    }

    @Test("A state directory that is a file is rejected")
    func folderIsFile() throws {
        let file = folder.url.appending(path: "file")
        try Data().write(to: file)
        #expect(throws: FileError.self) { try InstallationAttester(stateDirectory: file) }
    }

    @Test("Evidence proves the request's development key to an authority that has it, and does not contain it")
    func developmentKey() async throws {
        let attester = try attester()
        #expect(try VerifiedEvidence(verifying: try await attester.evidence(for: request)).evidence.developmentKey == nil)
        var request = request
        let key = DevelopmentKey.generate()
        request.developmentKey = key
        let verified = try VerifiedEvidence(verifying: try await attester.evidence(for: request))
        #expect(verified.evidence.developmentKey == key.proof(challenge: request.challenge, installationKey: verified.installationKey))
        #expect(verified.evidence.developmentKey != key.base64url)
    }
}
