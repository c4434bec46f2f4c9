public import Crypto

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

    /// Derives a secret key of this installation, with which data is sealed that only this installation may read.
    ///
    /// The key must be the same after every start, and different for another installation or purpose. It must not leave the process.
    ///
    /// - Parameter purpose: What the key is for.
    /// - Returns: A key of 32 bytes; nil, the default, if the attester has no secret to derive one from. An app with such an attester cannot
    ///   keep its own secure strings.
    func secretKey(for purpose: String) -> SymmetricKey?
}

extension Attester {
    /// Returns nil.
    ///
    /// - Parameter purpose: What the key is for.
    /// - Returns: Nil.
    public func secretKey(for purpose: String) -> SymmetricKey? { nil }
}
