internal import COpenSSL
public import Foundation

/// One parsed X.509 certificate (RFC 5280).
///
/// A parsed certificate is not yet a trusted one: see ``ServerTrust``.
public final class Certificate: Sendable {
    // X509 is reference counted atomically, is never changed after parsing, and guards its own caches with a lock.
    nonisolated(unsafe) let x509: OpaquePointer

    /// The pin of the certificate's public key, of any key type.
    public let pin: Pin

    /// Parses DER.
    ///
    /// - Parameter der: The certificate, and nothing after it.
    /// - Throws: ``PinningError`` with code `malformedCertificate` when the bytes do not parse, or when more bytes follow the certificate.
    public convenience init(der: [UInt8]) throws {
        ERR_clear_error()
        let parsed = der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let x509 = d2i_X509(nil, &cursor, buffer.count) else { return nil }
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                X509_free(x509)
                return nil
            }
            return x509
        }
        guard let parsed else {
            throw PinningError(.malformedCertificate, "the certificate does not parse as DER (\(OpenSSLText.takeError()))")
        }
        try self.init(owning: parsed)
    }

    /// Parses PEM that holds exactly one certificate.
    ///
    /// - Throws: ``PinningError`` with code `malformedCertificate` when the text does not hold exactly one certificate, or it does not
    ///   parse.
    public convenience init(pem: String) throws {
        let blocks = try Self.certificateBlocks(pem)
        guard blocks.count == 1 else {
            throw PinningError(.malformedCertificate, "the PEM text contains \(blocks.count) certificates; give exactly one")
        }
        try self.init(der: blocks[0].bytes)
    }

    /// Parses all certificates of a PEM text, in its order, and ignores other blocks.
    ///
    /// - Parameter pem: The text.
    /// - Returns: At least one certificate.
    /// - Throws: ``PinningError`` with code `malformedCertificate` when a certificate does not parse or the text holds none.
    public static func all(inPEM pem: String) throws -> [Certificate] {
        let blocks = try certificateBlocks(pem)
        guard !blocks.isEmpty else {
            throw PinningError.noPEMCertificate
        }
        return try blocks.map { try Certificate(der: $0.bytes) }
    }

    private static func certificateBlocks(_ pem: String) throws -> [PEM.Block] {
        try PEM.blocks([UInt8](pem.utf8), onFailure: .malformedCertificate)
            .filter(isCertificate)
    }

    static func isCertificate(_ block: PEM.Block) -> Bool { block.label == "CERTIFICATE" || block.label == "X509 CERTIFICATE" }

    /// Takes ownership of the caller's reference, even when it throws.
    init(owning x509: OpaquePointer) throws {
        guard let pin = PublicKeyInfo.pin(X509_get_X509_PUBKEY(x509)) else {
            X509_free(x509)
            throw PinningError(.malformedCertificate, "the certificate's public key cannot be encoded (\(OpenSSLText.takeError()))")
        }
        self.x509 = x509
        self.pin = pin
    }

    /// Adds a reference; the caller keeps its own.
    convenience init(retaining x509: OpaquePointer) throws {
        X509_up_ref(x509)
        try self.init(owning: x509)
    }

    deinit { X509_free(x509) }

    /// The certificate in DER.
    public var der: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(x509, &bytes)
        defer { COpenSSL_free(bytes) }
        guard count > 0, let bytes else { return [] }
        return [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// The subject on one line (RFC 2253), safe to log: control characters escaped, at most 256 characters.
    public var subject: String { OpenSSLText.name(X509_get_subject_name(x509)) }

    /// The issuer on one line, in the form of ``subject``.
    public var issuer: String { OpenSSLText.name(X509_get_issuer_name(x509)) }

    /// When the certificate becomes valid; a malformed time counts as the distant future, so the certificate is never valid.
    public var notBefore: Date { OpenSSLText.date(X509_get0_notBefore(x509)) ?? .distantFuture }

    /// When the certificate expires; a malformed time counts as the distant past.
    public var notAfter: Date { OpenSSLText.date(X509_get0_notAfter(x509)) ?? .distantPast }

    /// Whether the basic constraints mark the certificate as a certification authority's (RFC 5280, section 4.2.1.9).
    var isAuthority: Bool { X509_get_extension_flags(x509) & UInt32(EXFLAG_CA) != 0 }

    /// Whether the certificate is a root: OpenSSL accepts it as its own issuer.
    var isSelfSigned: Bool { X509_get_extension_flags(x509) & UInt32(EXFLAG_SS) != 0 }

    /// Whether the issuer's name equals the subject's, whichever key signed it.
    var isSelfIssued: Bool { X509_get_extension_flags(x509) & UInt32(EXFLAG_SI) != 0 }

    /// The subject alternative names, as OpenSSL prints them; nil when the certificate has none (RFC 5280, section 4.2.1.6).
    var alternativeNames: String? {
        let index = X509_get_ext_by_NID(x509, NID_subject_alt_name, -1)
        guard index >= 0, let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard X509V3_EXT_print(bio, X509_get_ext(x509, index), 0, 0) == 1 else { return "names that cannot be read" }
        return OpenSSLText.contents(of: bio, limit: 256)
    }
}

extension PinningError {
    /// The error for a text without a certificate.
    static var noPEMCertificate: PinningError {
        PinningError(
            .malformedCertificate, "the text contains no PEM certificate, which begins with the line \"-----BEGIN CERTIFICATE-----\"")
    }
}
