internal import COpenSSL

/// A client certificate with its private key, for servers that ask for one (mutual TLS, RFC 8446, section 4.3.2).
///
/// The initialisers verify that the key fits the certificate. The certificate is shown only to hosts whose rule names it: see
/// ``ServerTrustEvaluating/presenting(_:)``. The private key is never printed. Bytes read from a file are overwritten once OpenSSL
/// has the key; the caller wipes the bytes and passwords that it holds itself.
public final class ClientIdentity: Sendable {
    /// The source of a private key.
    public enum PrivateKey: Sendable {
        /// A file, in PEM or DER.
        case file(String)
        /// PEM or DER in memory.
        case bytes([UInt8])
        /// A closure that fetches PEM or DER when the identity is made, for instance from a secret store.
        ///
        /// The returned bytes are overwritten after use, unless the closure keeps a copy.
        case callback(@Sendable () throws -> [UInt8])
    }

    /// The client's certificate, followed by the certificates above it that are sent with it.
    public let certificates: [Certificate]
    // EVP_PKEY is reference counted atomically and does not change after it was read; OpenSSL guards its caches.
    private nonisolated(unsafe) let key: OpaquePointer

    /// Takes a certificate and its key.
    ///
    /// - Parameters:
    ///   - certificates: The client's certificate, then those above it, without the root.
    ///   - privateKey: The key of the first certificate.
    ///   - password: Returns the password of an encrypted key. Nil, or a closure that returns nil, means no password. OpenSSL never asks
    ///     for one on the terminal.
    /// - Throws: ``PinningError`` with code `noCertificates`, `unreadableFile`, `malformedKey`, `encryptedKey` when the password is
    ///   missing, `wrongPassword`, `keyMismatch` or `weakKey`; and whatever the closures throw.
    public convenience init(
        certificates: [Certificate], privateKey: PrivateKey, password: (() throws -> String?)? = nil
    ) throws {
        let key = try PrivateKeyReader.key(from: privateKey, password: password)
        try self.init(certificates: certificates, owning: key)
    }

    /// Reads a certificate and its key from files.
    ///
    /// - Parameters:
    ///   - certificatePath: A file with the client's certificate, then those above it, in PEM, or the certificate alone in DER.
    ///   - privateKeyPath: A file with the key, in PEM or DER.
    ///   - password: As in ``init(certificates:privateKey:password:)``.
    /// - Throws: ``PinningError`` as ``init(certificates:privateKey:password:)`` does, or with code `malformedCertificate`.
    public convenience init(
        certificateFile certificatePath: String, privateKeyFile privateKeyPath: String, password: (() throws -> String?)? = nil
    ) throws {
        try self.init(certificates: Certificate.all(at: certificatePath), privateKey: .file(privateKeyPath), password: password)
    }

    /// Reads PKCS #12 (RFC 7292), the format of `.p12` and `.pfx` files.
    ///
    /// - Parameters:
    ///   - bytes: The contents of the file.
    ///   - password: Returns the password of the file. Nil, or a closure that returns nil, means no password.
    /// - Throws: ``PinningError`` with code `malformedKey`, `malformedCertificate`, `wrongPassword`, `noCertificates`, `keyMismatch` or
    ///   `weakKey`; and whatever the closure throws.
    public convenience init(pkcs12 bytes: [UInt8], password: (() throws -> String?)? = nil) throws {
        let (certificates, key) = try PKCS12Reader.read(bytes, password: password)
        try self.init(certificates: certificates, owning: key)
    }

    /// Reads a PKCS #12 file of at most 1 MiB.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - password: As in ``init(pkcs12:password:)``.
    /// - Throws: ``PinningError`` with code `unreadableFile`, or as ``init(pkcs12:password:)`` does.
    public convenience init(pkcs12File path: String, password: (() throws -> String?)? = nil) throws {
        var bytes = try BoundedFile.read(path, limit: PrivateKeyReader.maximumSize)
        defer { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        try self.init(pkcs12: bytes, password: password)
    }

    /// Takes ownership of the caller's reference to the key, even when it throws.
    private init(certificates: [Certificate], owning key: OpaquePointer) throws {
        self.certificates = certificates
        self.key = key
        guard let certificate = certificates.first else {
            throw PinningError(.noCertificates, "a client identity needs a certificate; give the client's certificate")
        }
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard X509_check_private_key(certificate.x509, key) == 1 else {
            throw PinningError(
                .keyMismatch,
                "the private key does not belong to the first certificate, \(certificate.subject); put the client's own certificate first")
        }
        try refuseWhatOpenSSLRefuses(certificate)
    }

    deinit { EVP_PKEY_free(key) }

    /// Tries the identity in a temporary context, so that a key too weak for the security level fails here and not in a handshake.
    private func refuseWhatOpenSSLRefuses(_ certificate: Certificate) throws {
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw PinningError(.malformedKey, "OpenSSL is out of memory")
        }
        defer { SSL_CTX_free(context) }
        guard ChainValidator.harden(sslContext: context), install(in: context) else {
            throw PinningError(
                .weakKey,
                "OpenSSL refuses the client certificate \(certificate.subject) (\(OpenSSLText.takeError())); use RSA of 2048 bits or more,"
                    + " P-256 or Ed25519, signed with SHA-256 or better")
        }
    }

    /// Installs the identity in an `SSL_CTX`, which adds its own references.
    func install(in sslContext: OpaquePointer) -> Bool {
        let chain = COpenSSL_chain_new()
        defer { COpenSSL_chain_free(chain) }
        for certificate in certificates.dropFirst() where COpenSSL_chain_append(chain, certificate.x509) != 1 { return false }
        return COpenSSL_use_identity(sslContext, certificates.first?.x509, key, chain) == 1
    }
}
