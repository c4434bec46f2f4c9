public import ApproovBase
public import Crypto
public import Foundation
import Synchronization

/// The default attester: signs with a P-256 installation key kept in a file, and measures its own executable.
///
/// An attacker who controls the machine can forge both. This attester makes attacks more expensive and identifies each installation.
public final class InstallationAttester: Attester {
    /// The installation's device ID.
    public let deviceID: DeviceID

    private let key: P256.Signing.PrivateKey
    private let executable: URL
    private let appID: String
    private let appVersion: String
    private let time: any TimeSource
    /// The running or finished measurement, shared by all callers; nil after one that failed.
    private let measurement: Mutex<Task<String, any Error>?>

    /// Reads the installation key, or makes one, and begins to measure the executable in the background.
    ///
    /// - Parameters:
    ///   - stateDirectory: The folder of the files `installation-key` and `device-id`, both with mode 0600; created when missing.
    ///   - executable: The file to measure; nil means the running executable.
    ///   - appID: The app's name for itself; nil means the name of its executable.
    ///   - appVersion: The app's version; nil means `unknown`.
    ///   - time: The clock.
    /// - Throws: `FileError` or ``AttestationError``, naming the file and the remedy when one of the two files is a link, a FIFO or a
    ///   folder, can be used by other users, belongs to another user, has wrong content, or cannot be read or written.
    public init(
        stateDirectory: URL, executable: URL? = nil, appID: String? = nil, appVersion: String? = nil,
        time: any TimeSource = SystemTimeSource()
    ) throws {
        key = try InstallationKey.load(in: stateDirectory)
        deviceID = DeviceID(installationKey: key.publicKey)
        self.executable = executable ?? ExecutableMeasurement.runningExecutable
        let named = executable?.resolvingSymlinksInPath() ?? URL(filePath: RunningExecutable.path)
        self.appID = appID ?? named.lastPathComponent
        self.appVersion = appVersion ?? "unknown"
        self.time = time
        // The first request should not wait for it: a large executable takes longer than the attestation.
        measurement = Mutex(executable == nil ? ExecutableMeasurement.ofRunningExecutable : Self.measuring(self.executable))
    }

    /// Makes evidence with the executable's measurement, which is taken once, and the current environment.
    ///
    /// - Parameter request: What the evidence must contain.
    /// - Returns: The compact JWS.
    /// - Throws: ``AttestationError`` when the executable cannot be measured or the evidence would be too long.
    public func evidence(for request: EvidenceRequest) async throws -> String {
        var evidence = Evidence(
            answering: request, iat: Int64(time.date.timeIntervalSince1970), deviceID: deviceID, appID: appID, appVersion: appVersion,
            measurements: [Evidence.executableMeasurement: try await measured()], environment: ProcessEnvironment.flags())
        evidence.developmentKey = request.developmentProof(of: key.publicKey)
        return try evidence.signed(by: key)
    }

    /// Signs with the installation key; r and s, 32 bytes each.
    func sign(_ message: [UInt8]) throws(AttestationError) -> [UInt8] { try ES256.sign(message, by: key) }

    /// Derives a key from the installation key (HKDF-SHA256, RFC 5869).
    ///
    /// - Parameter purpose: What the key is for.
    /// - Returns: A key of 32 bytes.
    public func secretKey(for purpose: String) -> SymmetricKey? {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key.rawRepresentation), info: Array("approov-secret-key\0\(purpose)".utf8),
            outputByteCount: 32)
    }

    private static func measuring(_ executable: URL) -> Task<String, any Error> {
        Task.detached { try ExecutableMeasurement.sha256(ofFileAt: executable) as String }
    }

    /// Waits until the executable is measured, which begins when the attester is made; ``evidence(for:)`` waits for it, too.
    ///
    /// - Throws: ``AttestationError`` with code `measurementFailed` when the executable cannot be measured.
    public func finishMeasuring() async throws { _ = try await measured() }

    private func measured() async throws -> String {
        do {
            return try await measuredOnce()
        } catch {
            // That measurement may have begun long before this request: only a new failure counts.
            return try await measuredOnce()
        }
    }

    private func measuredOnce() async throws -> String {
        let task = measurement.withLock { current in
            if let current { return current }
            let started = Self.measuring(executable)
            current = started
            return started
        }
        do {
            return try await task.value
        } catch {
            // Do not keep a failure: the next attestation measures again.
            measurement.withLock { current in
                if current == task { current = nil }
            }
            throw error
        }
    }
}
