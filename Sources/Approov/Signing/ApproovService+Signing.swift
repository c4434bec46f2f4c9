import Attestation
import MessageSignatures

/// Signatures of messages that are no HTTP requests of a session.
extension ApproovService {
    /// A key that signs messages.
    public enum SigningKey: Sendable, Hashable {
        /// The installation key: ECDSA on P-256 with SHA-256.
        case installation
        /// The account's message-signing key: HMAC with SHA-256.
        case account
    }

    /// Signs a message of the app's.
    ///
    /// A session signs its requests itself: see ``ApproovSessionConfiguration/signing``.
    ///
    /// Never sign bytes that another party chose; put your own prefix before them. Otherwise that party gets the signature of a request or
    /// another message that it wrote.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - key: The key. The authority sends the account's with each token, so a token must have been fetched before.
    /// - Returns: For the installation key r and s, 32 bytes each; for the account key the 32 bytes of the HMAC.
    /// - Throws: ``ApproovError`` with code `signingFailed` when the key is not available, cannot sign, or must not sign this message because
    ///   it has the form of a JWS; `CancellationError` when the task is cancelled.
    public func sign(_ message: [UInt8], with key: SigningKey) async throws -> [UInt8] {
        guard key != .installation || !Evidence.isSigningInput(message) else {
            throw ApproovError(
                .signingFailed,
                "the installation key signs no message in the form of a JWS, because the signature would make evidence of it: sign the"
                    + " message's SHA-256 instead")
        }
        do {
            return try await signer(key, accountKey: accountKey.value).sign(message)
        } catch {
            throw SigningStation.explained(error)
        }
    }

    /// The signer of a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - accountKey: The account's key; nil if there is none.
    /// - Returns: The signer.
    /// - Throws: ``ApproovError`` with code `signingFailed` when the key is not available.
    func signer(_ key: SigningKey, accountKey: MessageSigningKey?) throws -> any MessageSigner {
        switch key {
        case .installation:
            guard let installationSigner else { throw ApproovError(.signingFailed, Self.cannotSign) }
            return InstallationKeySigner(signer: installationSigner)
        case .account:
            guard let accountKey else {
                throw ApproovError(.signingFailed, "\(missingAccountKey), so nothing was signed or sent: \(remedyOfMissingAccountKey)")
            }
            return try SignatureSigningKey.hmacSHA256(accountKey.key)
        }
    }

    private var missingAccountKey: String {
        guard accountKey.isTold else { return "no attestation has brought the account's message-signing key yet" }
        return accountKey.value == nil
            ? "the account has no message-signing key" : "the token came without the account's message-signing key"
    }

    private var remedyOfMissingAccountKey: String {
        guard accountKey.isTold else { return "fetch a token first, for a host that is not oblivious" }
        return accountKey.value == nil
            ? "make one with `approov secret -messageSigningKey change --yes`, and fetch a new token" : "fetch a new token"
    }

    /// Why an attester cannot sign, and the remedy.
    static let cannotSign =
        "the service's attester cannot sign with the installation key: use the InstallationAttester, or conform your own to"
        + " InstallationSigner"
}
