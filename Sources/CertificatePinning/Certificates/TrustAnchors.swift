internal import ApproovBase
internal import COpenSSL
package import Foundation

/// A set of root certificates, loaded once and shared by every handshake that trusts them.
public final class TrustAnchors: Sendable {
    // X509_STORE guards itself with a lock; nothing is added to it after init.
    nonisolated(unsafe) let store: OpaquePointer

    /// The number of certificates.
    public var count: Int { certificates.count }

    let certificates: [Certificate]

    /// The largest bundle of roots that is read, in bytes.
    private static let maximumBundleBytes = 16 << 20

    /// The paths at which distributions keep their bundle of roots.
    ///
    /// They are fixed: no environment variable can substitute another file.
    static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// Loads the roots of the operating system; blocks of its bundle that do not parse as certificates are skipped.
    ///
    /// - Returns: The roots of the first bundle that holds a certificate.
    /// - Throws: ``PinningError`` with code `noAnchors` when no bundle is installed, or `malformedCertificate` when the bundle is not
    ///   well-formed PEM.
    public static func system() throws -> TrustAnchors {
        for path in systemBundles {
            guard let bytes = try? BoundedFile.read(path, limit: maximumBundleBytes) else { continue }
            let blocks = try PEM.blocks(bytes, onFailure: .malformedCertificate, isStrict: false)
            let certificates = blocks.compactMap { try? Certificate(der: $0.bytes) }
            if !certificates.isEmpty { return try TrustAnchors(certificates: certificates) }
        }
        throw PinningError(
            .noAnchors,
            "there are no root certificates at \(systemBundles.joined(separator: ", ")); install ca-certificates or configure trust roots"
        )
    }

    /// Takes the certificates of a PEM text that holds nothing else.
    ///
    /// Other blocks are an error: if they were skipped, a root could be in the text and not count.
    /// - Parameter pem: The text.
    /// - Throws: ``PinningError`` with code `malformedCertificate`, including for PEM blocks that are not certificates, or `noAnchors` when
    ///   no certificate is a root.
    public convenience init(pem: String) throws {
        let bytes = [UInt8](pem.utf8)
        guard PEMText.isPEM(bytes) else {
            throw PinningError.noPEMCertificate
        }
        try self.init(certificates: Certificate.all(in: bytes))
    }

    /// Takes the certificates of a PEM text, and throws if none of them is valid now.
    ///
    /// Use it when an operator configures the roots.
    /// - Parameters:
    ///   - pem: The text.
    ///   - time: The time at which one root must be valid.
    /// - Throws: ``PinningError`` with code `malformedCertificate` or `noAnchors` as in ``init(pem:)``, `expiredAnchors` when all roots
    ///   have expired, or `anchorsNotYetValid` when those that have not are not yet valid.
    package convenience init(pem: String, validAt time: Date) throws {
        try self.init(pem: pem)
        try requireValid(at: time)
    }

    /// Takes certificates.
    ///
    /// A path must end in a self-signed certificate: an intermediate in the list is not an anchor by itself.
    ///
    /// - Parameter certificates: The certificates; at least one must be a root.
    /// - Throws: ``PinningError`` with code `noAnchors` when none of them is a root, or `malformedCertificate` when OpenSSL refuses one.
    public init(certificates: [Certificate]) throws {
        guard certificates.contains(where: \.isSelfSigned) else { throw Self.noRoot(among: certificates) }
        guard let store = X509_STORE_new() else { throw PinningError(.noAnchors, "OpenSSL is out of memory") }
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
                "\"\(certificate.subject)\" cannot be a root, because OpenSSL does not accept it as self-signed: \(flaw); issue it again;"
                    + " if it has an authority key identifier, it must be that of its own key")
        }
        return PinningError(
            .noAnchors, "the \(certificates.count) certificates contain no self-signed root; add the root at the end of their path")
    }

    /// Reads the certificates of a file, PEM or DER, or of all `.pem`, `.crt`, `.cer` and `.der` files of a folder.
    ///
    /// - Parameter path: The path of a file or a folder.
    /// - Throws: ``PinningError`` with code `unreadableFile`, `malformedCertificate`, `noCertificates`, `noAnchors`, `expiredAnchors` when
    ///   all roots have expired, or `anchorsNotYetValid` when no root is valid and at least one will be later.
    public convenience init(contentsOf path: String) throws {
        try self.init(certificates: Certificate.all(at: path))
        try requireValid(at: Date())
    }

    /// Refuses a set of roots without a valid root, because every handshake would fail with it.
    ///
    /// - Parameter time: The time to compare with.
    /// - Throws: ``PinningError`` with code `expiredAnchors` when all roots have expired, or `anchorsNotYetValid` when no root is
    ///   valid and at least one will be later.
    package func requireValid(at time: Date) throws {
        let roots = certificates.filter(\.isSelfSigned)
        let unexpired = roots.filter { $0.notAfter >= time }
        guard !unexpired.contains(where: { $0.notBefore <= time }) else { return }
        if let next = unexpired.min(by: { $0.notBefore < $1.notBefore }) {
            throw PinningError(
                .anchorsNotYetValid,
                "no root is valid yet; the first, \(next.subject), is valid from \(next.notBefore); correct the clock, or replace the roots"
            )
        }
        guard let last = roots.max(by: { $0.notAfter < $1.notAfter }) else { return }
        throw PinningError(
            .expiredAnchors, "all root certificates have expired, the last one, \(last.subject), at \(last.notAfter); replace them")
    }

    /// These roots together with the system's.
    func besideSystem() throws -> TrustAnchors {
        try TrustAnchors(certificates: certificates + TrustAnchors.system().certificates)
    }

    deinit { X509_STORE_free(store) }
}
