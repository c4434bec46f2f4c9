/// How a session signs its requests: HTTP message signatures (RFC 9421).
///
/// ```swift
/// var configuration = ApproovSessionConfiguration()
/// configuration.signing = .installation()
/// ```
///
/// A token ties its bearer to an app; a signature ties the request to the token. The session signs each request that carries a token,
/// again for every redirect and attempt, over exactly what goes on the wire. Requests without a token are not signed.
///
/// A signature covers, in this order: `@method`, `@target-uri`, the token header, the trace ID, then `authorization`, `content-length` and
/// `content-type` where present, ``additionalFields``, and `content-digest` wherever there is a body. Its parameters are `alg`, `created`,
/// `expires` and, if the app sets one, `keyid`.
///
/// The session computes Content-Digest (RFC 9530) with SHA-256 from the bytes or the file that it sends, and replaces the caller's. It
/// refuses a body that is a stream, unless the caller sets Content-Digest itself or ``signsStreamsWithoutDigest`` is true.
public struct MessageSigning: Sendable, Hashable {
    /// The keys to sign with, in the order of the signatures.
    let keys: [ApproovService.SigningKey]
    /// The parameter `keyid` of the installation's signature; nil, the default, to leave it out.
    public var installationKeyID: String?
    /// The parameter `keyid` of the account's signature; nil, the default, to leave it out.
    ///
    /// A `SignatureCheckMiddleware` refuses an ID that is not the token's claim `mskid`.
    public var accountKeyID: String?
    /// The time from the signature's `created` to its `expires`, in whole seconds from 1 to 3,600; 15 s by default.
    ///
    /// A verifier may add an allowance for clocks: `SignatureCheckMiddleware` adds 30 s.
    public var lifetime: Duration = .seconds(15)
    /// The names of further header fields to cover, where a request has them; empty by default.
    ///
    /// Name only fields that reach the backend unchanged.
    public var additionalFields: [String] = []
    /// Whether a body that is a stream is sent although no digest of it can be signed; false by default.
    ///
    /// The signature then says nothing about the body. A `SignatureCheckMiddleware` refuses such a request: check it in another way.
    public var signsStreamsWithoutDigest = false
    /// Whether requests carry Signature-Base-Digest, the digest of what was signed; false by default.
    ///
    /// For debugging only: if a signature is refused, it shows whether client and server have the same signature base. Two signatures have
    /// a digest each, in the order of the signatures.
    public var sendsBaseDigest = false

    private init(_ keys: [ApproovService.SigningKey], installation: String? = nil, account: String? = nil) {
        self.keys = keys
        installationKeyID = installation
        accountKeyID = account
    }

    /// Signs with the installation key: label `install`, algorithm `ecdsa-p256-sha256`.
    ///
    /// The backend verifies with the token's claim `ipk`.
    ///
    /// - Parameter keyID: The parameter `keyid`; nil to leave it out.
    /// - Returns: The setting.
    public static func installation(keyID: String? = nil) -> MessageSigning { MessageSigning([.installation], installation: keyID) }

    /// Signs with the account's message-signing key: label `account`, algorithm `hmac-sha256`.
    ///
    /// The authority sends the key with each token, whose claim `mskid` names it. Requests fail while the account has none.
    ///
    /// - Parameter keyID: The parameter `keyid`; nil to leave it out.
    /// - Returns: The setting.
    public static func account(keyID: String? = nil) -> MessageSigning { MessageSigning([.account], account: keyID) }

    /// Signs with both keys: two signatures over the same components.
    ///
    /// - Parameters:
    ///   - installationKeyID: The parameter `keyid` of the installation's signature; nil to leave it out.
    ///   - accountKeyID: The parameter `keyid` of the account's signature; nil to leave it out.
    /// - Returns: The setting.
    public static func both(installationKeyID: String? = nil, accountKeyID: String? = nil) -> MessageSigning {
        MessageSigning([.installation, .account], installation: installationKeyID, account: accountKeyID)
    }
}
