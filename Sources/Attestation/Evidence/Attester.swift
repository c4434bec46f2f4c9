/// Makes evidence about the app, by default with the installation key.
///
/// Implement it to use a TPM or another platform's attestation. The service calls it once per attestation, and again if the
/// authority no longer accepts the challenge. If possible, it does so in the background, so that no request waits.
public protocol Attester: Sendable {
    /// The installation's device ID.
    var deviceID: DeviceID { get }

    /// Makes evidence for a request: a compact JWS like that of ``Evidence/signed(by:)``.
    ///
    /// If the request has a development key, the evidence must have ``EvidenceRequest/developmentProof(of:)``; without it, an unregistered
    /// build does not pass.
    ///
    /// - Parameter request: What the evidence must contain.
    /// - Returns: The compact JWS.
    /// - Throws: Any error, when evidence cannot be made; the attestation then fails.
    func evidence(for request: EvidenceRequest) async throws -> String
}
