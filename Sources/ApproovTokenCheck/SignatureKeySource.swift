internal import ApproovBase
internal import Attestation
internal import Crypto
internal import Foundation
internal import MessageSignatures

/// The key that a `SignatureCheckMiddleware` verifies with.
public struct SignatureKeySource: Sendable {
    private enum Kind: Sendable {
        case installation
        case account(@Sendable (String) -> [UInt8]?)
        case derivedAccount([UInt8])
    }

    /// Why there is no key for a token.
    enum Flaw: String, Error {
        case missingInstallationKey, malformedInstallationKey, missingAccountKeyID, unknownAccountKey, malformedAccountKey
        case missingDeviceID
    }

    private let kind: Kind
    /// Whether each secret that is known now is long enough.
    let isUsable: Bool
    /// The fewest bytes of a secret.
    private static let leastSecretBytes = 16

    private init(kind: Kind, isUsable: Bool = true) {
        self.kind = kind
        self.isUsable = isUsable
    }

    /// The installation's own key: the token's claim `ipk`, with `ecdsa-p256-sha256`.
    ///
    /// A token without the claim is refused. The authority leaves it out of tokens for oblivious hosts.
    public static let installation = SignatureKeySource(kind: .installation)

    /// The account's message-signing key that the token's claim `mskid` names, with `hmac-sha256`.
    ///
    /// A signature that names another key in `keyid` is refused.
    /// - Parameter keys: The keys by ID, each 16 bytes or more: the bytes that the authority prints as base64url. The initialiser of
    ///   `SignatureCheckMiddleware` refuses a shorter one.
    /// - Returns: The source.
    public static func account(_ keys: [String: [UInt8]]) -> SignatureKeySource {
        SignatureKeySource(kind: .account { keys[$0] }, isUsable: keys.values.allSatisfy { $0.count >= leastSecretBytes })
    }

    /// The account's message-signing key that the token's claim `mskid` names, with `hmac-sha256`, when keys may change while the check runs.
    ///
    /// - Parameter lookUp: Returns the bytes of a key by its ID, nil for an unknown one; called for every request, so it should return a
    ///   stored key.
    /// - Returns: The source.
    public static func account(lookUp: @escaping @Sendable (_ id: String) -> [UInt8]?) -> SignatureKeySource {
        SignatureKeySource(kind: .account(lookUp))
    }

    /// **Superseded: only for apps with an old release of Approov's own SDK.**
    ///
    /// Each token has its own key for `hmac-sha256`, derived from a base secret: HMAC-SHA256 of the device ID's bytes and
    /// `exp` as a big-endian integer of 64 bits. That SDK now uses the account key itself; this package's client never signs so.
    /// Use ``account(_:)`` for all other apps.
    /// - Parameter baseSecret: The base secret, 16 bytes or more.
    /// - Returns: The source.
    public static func supersededDerivedAccountKey(baseSecret: [UInt8]) -> SignatureKeySource {
        SignatureKeySource(kind: .derivedAccount(baseSecret), isUsable: baseSecret.count >= leastSecretBytes)
    }

    /// The key for a token.
    func key(for claims: TokenClaims) -> Result<SignatureVerificationKey, Flaw> {
        switch kind {
        case .installation:
            guard let ipk = claims.ipk else { return .failure(.missingInstallationKey) }
            guard let der = Base64.decode(ipk), let key = try? P256.Signing.PublicKey(derRepresentation: der) else {
                return .failure(.malformedInstallationKey)
            }
            return .success(.ecdsaP256SHA256(key))
        case .account(let lookUp):
            guard let id = claims.mskid else { return .failure(.missingAccountKeyID) }
            guard let bytes = lookUp(id) else { return .failure(.unknownAccountKey) }
            guard let key = try? SignatureVerificationKey.hmacSHA256(bytes, id: id) else { return .failure(.malformedAccountKey) }
            return .success(key)
        case .derivedAccount(let secret):
            guard let bytes = Self.derivedKey(from: secret, claims: claims) else { return .failure(.missingDeviceID) }
            guard let key = try? SignatureVerificationKey.hmacSHA256(bytes) else { return .failure(.malformedAccountKey) }
            return .success(key)
        }
    }

    /// The key of ``supersededDerivedAccountKey(baseSecret:)``; nil when the token has no device ID.
    static func derivedKey(from baseSecret: [UInt8], claims: TokenClaims) -> [UInt8]? {
        guard let did = claims.did, let device = Base64.decode(did) else { return nil }
        var message = device
        withUnsafeBytes(of: claims.exp.bigEndian) { message.append(contentsOf: $0) }
        return Array(HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: baseSecret)))
    }
}
