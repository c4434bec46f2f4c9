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

    @Test("the installation keeps its key and device ID over restarts, in files of mode 0600")
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

    @Test("a missing state directory is made for its owner alone")
    func makesFolder() throws {
        let deep = folder.url.appending(path: "a/b")
        _ = try InstallationAttester(stateDirectory: deep)
        let attributes = try FileManager.default.attributesOfItem(atPath: deep.path(percentEncoded: false))
        #expect(attributes[.posixPermissions] as? Int == 0o700)
    }

    @Test("evidence answers the request and measures the running executable")
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

    @Test("the executable is measured once, however many ask at once")
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

    @Test("a measurement that failed is tried again")
    func measurementFails() async throws {
        let file = folder.url.appending(path: "program")
        let attester = try attester(executable: file)
        #expect(await codeThrown(as: AttestationError.self) { try await attester.evidence(for: request) } == .measurementFailed)
        try Data("one".utf8).write(to: file)
        _ = try await attester.evidence(for: request)
    }

    @Test("of attesters that start at once all end with one key", arguments: 0..<5)
    func race(round: Int) async throws {
        let url = folder.url
        let devices = try await withThrowingTaskGroup(of: DeviceID.self) { group in
            for _ in 0..<16 { group.addTask { try InstallationAttester(stateDirectory: url).deviceID } }
            return try await group.reduce(into: Set<DeviceID>()) { $0.insert($1) }
        }
        #expect(devices.count == 1)
        #expect(try folder.names == ["device-id", "installation-key"])
    }

    @Test("a key file that others may read is refused, with its path and the remedy", arguments: [0o640, 0o604, 0o666, 0o777, 0o620])
    func modes(mode: Int) throws {
        _ = try attester()
        #expect(chmod(folder.path("installation-key"), mode_t(mode)) == 0)
        let error = try #require(throws: FileError.self) { try attester() }
        #expect(error.code == .fileUnsafe)
        #expect(error.message.contains(folder.path("installation-key")))
        #expect(error.message.contains("chmod 600"))
    }

    @Test("a link, a FIFO and a folder in the key's place are refused at once", arguments: ["link", "fifo", "folder", "dangling"])
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

    @Test("a key file of another user is refused", .enabled(if: geteuid() == 0, "only root can give files away"))
    func owner() throws {
        _ = try attester()
        #expect(chown(folder.path("installation-key"), 65_534, 65_534) == 0)
        let error = try #require(throws: FileError.self) { try attester() }
        #expect(error.code == .fileUnsafe)
        #expect(error.message.contains("65534"))
    }

    @Test("a key file with another content is refused, and its content is not in the error")
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

    @Test("a device ID that is not the key's is refused")
    func deviceID() throws {
        _ = try attester()
        let other = DeviceID(installationKey: P256.Signing.PrivateKey().publicKey).base64 + "\n"
        try Data(other.utf8).write(to: folder.url.appending(path: "device-id"))
        #expect(code { try attester() } == .fileUnreadable)
        #expect(unlink(folder.path("device-id")) == 0)
        _ = try attester()
    }

    @Test("a state directory that is a file is refused")
    func folderIsFile() throws {
        let file = folder.url.appending(path: "file")
        try Data().write(to: file)
        #expect(throws: FileError.self) { try InstallationAttester(stateDirectory: file) }
    }

    @Test("evidence proves the request's development key to an authority that has it, and does not contain it")
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
