internal import COpenSSL
package import Foundation

/// A set of root certificates, loaded once and shared by every handshake that trusts them.
public final class TrustAnchors: Sendable {
    // X509_STORE guards itself with a lock; nothing is added to it after init.
    nonisolated(unsafe) let store: OpaquePointer

    /// The number of certificates.
    public var count: Int { certificates.count }

    let certificates: [Certificate]

    /// Where distributions keep their bundle.
    ///
    /// Fixed: no environment variable can put another in its place.
    static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// Loads the roots of the operating system; what its bundle holds beyond certificates that parse is passed over.
    ///
    /// - Throws: ``PinningError`` `noAnchors` when no bundle is installed.
    public static func system() throws -> TrustAnchors {
        for path in systemBundles {
            guard let bytes = try? BoundedFile.read(path, limit: 16 << 20) else { continue }
            let blocks = try PEM.blocks(bytes, onFailure: .malformedCertificate, isStrict: false)
            let certificates = blocks.compactMap { try? Certificate(der: $0.bytes) }
            if !certificates.isEmpty { return try TrustAnchors(certificates: certificates) }
        }
        throw PinningError(
            .noAnchors,
            "no root certificates at \(systemBundles.joined(separator: ", ")): install the package ca-certificates or configure trust roots"
        )
    }

    /// Takes the certificates of a PEM text, which holds nothing else: what was passed over would be a root that is there and does not count.
    ///
    /// - Throws: ``PinningError`` `malformedCertificate`, also for PEM blocks that are no certificates, or `noAnchors` when none is a root.
    public convenience init(pem: String) throws {
        let bytes = [UInt8](pem.utf8)
        guard PEM.isPEM(bytes) else {
            throw PinningError(.malformedCertificate, "the text holds no certificate in PEM: no line \"-----BEGIN CERTIFICATE-----\"")
        }
        try self.init(certificates: Certificate.all(in: bytes))
    }

    /// Takes the certificates of a PEM text where somebody configures them now.
    ///
    /// - Throws: ``PinningError`` as without a time, and `expiredAnchors` when none of the roots holds at the time.
    package convenience init(pem: String, validAt time: Date) throws {
        try self.init(pem: pem)
        try requireValid(at: time)
    }

    /// Takes certificates.
    ///
    /// A path must end in a self-signed one: an intermediate among them is no anchor by itself.
    ///
    /// - Throws: ``PinningError`` `noAnchors` when none of them is a root.
    public init(certificates: [Certificate]) throws {
        guard certificates.contains(where: \.isSelfSigned) else { throw Self.noRoot(among: certificates) }
        guard let store = X509_STORE_new() else { throw PinningError(.noAnchors, "OpenSSL made no store: out of memory") }
        for certificate in certificates where X509_STORE_add_cert(store, certificate.x509) != 1 {
            X509_STORE_free(store)
            throw PinningError(.malformedCertificate, "OpenSSL refuses a root certificate (\(OpenSSLText.takeError()))")
        }
        self.store = store
        self.certificates = certificates
    }

    private static func noRoot(among certificates: [Certificate]) -> PinningError {
        for certificate in certificates {
            guard let flaw = certificate.rootFlaw else { continue }
            return PinningError(
                .noAnchors,
                "\"\(certificate.subject)\" cannot be a root, for OpenSSL does not take it for self-signed: \(flaw); issue it again, and where"
                    + " it has an authority key identifier, with that of its own key")
        }
        return PinningError(
            .noAnchors, "none of \(certificates.count) certificates is a self-signed root: add the root that their path ends in")
    }

    /// Reads the certificates of a file, PEM or DER, or of all `.pem`, `.crt`, `.cer` and `.der` files of a folder.
    ///
    /// - Throws: ``PinningError`` `unreadableFile`, `malformedCertificate`, `noCertificates`, `noAnchors`, or `expiredAnchors` when none of
    ///   the roots holds today.
    public convenience init(contentsOf path: String) throws {
        try self.init(certificates: Certificate.all(at: path))
        try requireValid(at: Date())
    }

    /// Refuses a set whose every root is past its time: whoever configures it would find each handshake refused.
    ///
    /// - Throws: ``PinningError`` `expiredAnchors`.
    package func requireValid(at time: Date) throws {
        let roots = certificates.filter(\.isSelfSigned)
        guard let last = roots.max(by: { $0.notAfter < $1.notAfter }), last.notAfter < time else { return }
        throw PinningError(
            .expiredAnchors, "no root certificate holds any more, the last one, \(last.subject), since \(last.notAfter): replace them")
    }

    /// These roots and the system's.
    func besideSystem() throws -> TrustAnchors {
        try TrustAnchors(certificates: certificates + TrustAnchors.system().certificates)
    }

    deinit { X509_STORE_free(store) }
}
