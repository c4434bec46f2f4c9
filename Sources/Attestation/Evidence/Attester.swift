/// What can vouch for the app: the installation's key by default, a platform's attestation where there is one.
///
/// Write one for a TPM or another platform; the service calls it once for each attestation, off the request's path where it can.
public protocol Attester: Sendable {
    /// The installation.
    var deviceID: DeviceID { get }

    /// Evidence for a request, a compact JWS as `Evidence.signed(by:)` makes it.
    ///
    /// - Throws: When no evidence can be had; the attestation then fails.
    func evidence(for request: EvidenceRequest) async throws -> String
}
