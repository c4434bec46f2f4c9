public import ApproovBase
public import Attestation
public import Crypto
import Foundation
import Synchronization

/// An attester whose claims the test chooses, signed with its own key.
///
///     let attester = ScriptedAttester(measurement: "…")                       // evidence that an authority can judge
///     let broken = ScriptedAttester { _ in throw SomeError() }               // no evidence
///     let garbage = ScriptedAttester { _ in "not a JWS" }                    // evidence that no authority accepts
public final class ScriptedAttester: Attester, InstallationSigner {
    /// The installation's device ID.
    public let deviceID: DeviceID
    /// The installation's key.
    public let key: P256.Signing.PrivateKey

    private let script: @Sendable (EvidenceRequest) async throws -> String
    private let recorded = Mutex<[EvidenceRequest]>([])

    /// Makes an attester with well-formed evidence that carries one measurement of an executable.
    /// - Parameters:
    ///   - measurement: The executable's SHA-256, padded base64; by default 32 zero bytes, which no account has registered.
    ///   - environment: The environment's flags, for example `debugger`.
    ///   - key: The installation's key; a new one by default.
    ///   - time: The clock for the time in the claims.
    public convenience init(
        measurement: String = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", environment: [String] = [],
        key: P256.Signing.PrivateKey = .init(), time: any TimeSource = SystemTimeSource()
    ) {
        let deviceID = DeviceID(installationKey: key.publicKey)
        self.init(key: key) { request in
            var evidence = Evidence(
                answering: request, iat: Int64(time.date.timeIntervalSince1970), deviceID: deviceID, appID: "test", appVersion: "1",
                measurements: [Evidence.executableMeasurement: measurement], environment: environment)
            evidence.developmentKey = request.developmentProof(of: key.publicKey)
            return try evidence.signed(by: key)
        }
    }

    /// Makes an attester whose evidence comes from a closure.
    /// - Parameters:
    ///   - key: The installation's key, from which the device ID is derived.
    ///   - script: Receives each request and returns the evidence. It may wait, throw, or return nonsense.
    public init(key: P256.Signing.PrivateKey = .init(), script: @escaping @Sendable (EvidenceRequest) async throws -> String) {
        self.key = key
        deviceID = DeviceID(installationKey: key.publicKey)
        self.script = script
    }

    /// Records the request and calls the script.
    /// - Parameter request: The request for evidence.
    /// - Returns: The evidence.
    /// - Throws: The script's errors.
    public func evidence(for request: EvidenceRequest) async throws -> String {
        recorded.withLock { $0.append(request) }
        return try await script(request)
    }

    /// Signs with the installation's key.
    /// - Parameter message: The message.
    /// - Returns: The signature, r and s, 32 bytes each.
    /// - Throws: Any error of the key.
    public func installationSignature(of message: [UInt8]) throws -> [UInt8] { Array(try key.signature(for: message).rawRepresentation) }

    /// Derives a key from the installation's key.
    /// - Parameter purpose: What the key is for.
    /// - Returns: A key of 32 bytes.
    public func secretKey(for purpose: String) -> SymmetricKey? {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key.rawRepresentation), info: Array(purpose.utf8), outputByteCount: 32)
    }

    /// The requests so far, in order.
    public var requests: [EvidenceRequest] { recorded.withLock { $0 } }
}
