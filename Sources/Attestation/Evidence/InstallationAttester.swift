public import ApproovBase
import Crypto
public import Foundation
import Synchronization

/// The default attester: a P-256 key of the installation, kept in a file, and a measurement that the process takes of itself.
///
/// Someone who controls the host can forge both. It raises the price, and it gives each installation a name.
public final class InstallationAttester: Attester {
    /// The installation.
    public let deviceID: DeviceID

    private let key: P256.Signing.PrivateKey
    private let executable: URL
    private let appID: String
    private let appVersion: String
    private let time: any TimeSource
    /// The measurement under way or done; one for all who wait.
    private let measurement = Mutex<Task<String, any Error>?>(nil)

    /// Reads the installation's key, or makes one.
    ///
    /// - Parameters:
    ///   - stateDirectory: Where `installation-key` and `device-id` are kept, mode 0600; made when missing.
    ///   - executable: What is measured; nil: the running executable.
    ///   - appID: What the app calls itself; nil: the name of its executable.
    ///   - appVersion: The app's version; nil: `unknown`.
    ///   - time: Where the time comes from.
    /// - Throws: `FileError` or `AttestationError`, naming the file and the remedy, when one of the two is a link, a FIFO or a folder, can be read by others,
    ///   belongs to someone else, or has another content than it must have.
    public init(
        stateDirectory: URL, executable: URL? = nil, appID: String? = nil, appVersion: String? = nil,
        time: any TimeSource = SystemTimeSource()
    ) throws {
        key = try InstallationKey.load(in: stateDirectory)
        deviceID = DeviceID(installationKey: key.publicKey)
        self.executable = executable ?? ExecutableMeasurement.runningExecutable
        self.appID = appID ?? self.executable.resolvingSymlinksInPath().lastPathComponent
        self.appVersion = appVersion ?? "unknown"
        self.time = time
    }

    /// Evidence with the executable's measurement, taken once, and the environment as it is now.
    ///
    /// - Throws: `AttestationError` when the executable cannot be measured or the evidence would be too long.
    public func evidence(for request: EvidenceRequest) async throws -> String {
        let evidence = Evidence(
            answering: request, iat: Int64(time.date.timeIntervalSince1970), deviceID: deviceID, appID: appID, appVersion: appVersion,
            measurements: [Evidence.executableMeasurement: try await measured()], environment: ProcessEnvironment.flags())
        return try evidence.signed(by: key)
    }

    private func measured() async throws -> String {
        let task = measurement.withLock { current in
            if let current { return current }
            let executable = executable
            let started = Task.detached { try ExecutableMeasurement.sha256(ofFileAt: executable) as String }
            current = started
            return started
        }
        do {
            return try await task.value
        } catch {
            // A failure is not kept: the next attestation tries again.
            measurement.withLock { current in
                if current == task { current = nil }
            }
            throw error
        }
    }
}

/// The installation's key in its file, and the device ID beside it.
enum InstallationKey {
    static let keyFile = "installation-key"
    static let deviceIDFile = "device-id"
    private static let maximumBytes = 4 * 1024

    /// Reads the key, or makes one; of processes that start at once all end with the same one.
    static func load(in folder: URL) throws -> P256.Signing.PrivateKey {
        try PrivateFile.makeFolder(path: folder.path(percentEncoded: false))
        let file = PrivateFile(folder.appending(path: keyFile))
        // A killed start must not leave a private key lying about; a minute is more than a start that goes on needs.
        file.removeLeftovers(unchangedFor: 60)
        var stored = try read(file)
        if stored == nil { stored = try make(file) }
        guard let key = stored else { throw AttestationError(.fileMissing, "\(file.path) was removed while it was read: start again") }
        try keepDeviceID(DeviceID(installationKey: key.publicKey), in: PrivateFile(folder.appending(path: deviceIDFile)))
        return key
    }

    private static func read(_ file: PrivateFile) throws -> P256.Signing.PrivateKey? {
        guard let bytes = try file.read(upTo: maximumBytes) else { return nil }
        do {
            return try P256.Signing.PrivateKey(pemRepresentation: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw AttestationError(
                .malformedKey, "\(file.path) is not a P-256 private key: restore it, or remove it to become a new installation")
        }
    }

    /// The new key, or that of a process that was first.
    private static func make(_ file: PrivateFile) throws -> P256.Signing.PrivateKey? {
        let key = P256.Signing.PrivateKey()
        return try file.create(Array(key.pemRepresentation.utf8)) ? key : try read(file)
    }

    private static func keepDeviceID(_ deviceID: DeviceID, in file: PrivateFile) throws {
        let text = Array((deviceID.base64 + "\n").utf8)
        if try file.read(upTo: maximumBytes) == nil, try file.create(text) { return }
        guard try file.read(upTo: maximumBytes) == text else {
            throw AttestationError(
                .fileUnreadable, "\(file.path) is not the device ID of the key beside it: restore both files, or remove device-id")
        }
    }
}
