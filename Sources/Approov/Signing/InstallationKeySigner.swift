import Attestation
import MessageSignatures

/// Signs signature bases with the installation key.
struct InstallationKeySigner: MessageSigner {
    let signer: any InstallationSigner

    var algorithm: SignatureAlgorithm { .ecdsaP256SHA256 }

    func sign(_ base: [UInt8]) async throws -> [UInt8] {
        let signature = try await signer.installationSignature(of: base)
        guard signature.count == 64 else {
            throw ApproovError(
                .signingFailed, "the service's attester made a signature of \(signature.count) bytes: it must return r and s, 32 bytes each"
            )
        }
        return signature
    }
}
