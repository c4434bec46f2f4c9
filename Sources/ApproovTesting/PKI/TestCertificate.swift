public import CertificatePinning
public import Foundation
import SwiftASN1
import X509

/// A certificate that ``TestPKI`` minted, with its private key and the certificates above it.
public struct TestCertificate: Sendable {
    let x509: X509.Certificate

    /// The certificate as DER, with the requested flaws.
    public let der: [UInt8]
    /// The key pair of the certificate's subject.
    public let key: TestKey
    /// The certificates above this one, the direct issuer first and the root last; empty for a self-signed certificate.
    public let issuers: [TestCertificate]

    init(_ certificate: X509.Certificate, key: TestKey, issuers: [TestCertificate], flaws: Set<TestFlaw>) throws {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        var bytes = serializer.serializedBytes
        if flaws.contains(.badSignature), let last = bytes.popLast() {
            // The signature is the last field of a certificate, so only the signature becomes wrong and the structure stays valid.
            bytes.append(last ^ 1)
        }
        der = bytes
        x509 = certificate
        self.key = key
        self.issuers = issuers
    }

    /// The certificate as PEM.
    public var pem: String { PEMDocument(type: "CERTIFICATE", derBytes: der).pemString + "\n" }

    /// The private key as PEM.
    public var privateKeyPEM: String { key.privateKeyPEM }

    /// The pin of the certificate's key.
    public var pin: Pin { key.pin }

    /// The subject's distinguished name, for example `CN=Test Root`.
    public var subject: String { "\(x509.subject)" }

    /// The first moment at which the certificate is valid.
    public var notBefore: Date { x509.notValidBefore }

    /// The last moment at which the certificate is valid.
    public var notAfter: Date { x509.notValidAfter }

    /// The certificates that a server sends: this one, then the intermediates above it, without the root.
    /// - Parameters:
    ///   - includingRoot: Whether the root is sent too.
    ///   - appended: Unrelated certificates, sent after the chain.
    /// - Returns: The certificates in the order they are sent.
    public func chain(includingRoot: Bool = false, appending appended: [TestCertificate] = []) -> [TestCertificate] {
        let above = includingRoot ? issuers[...] : issuers.dropLast()
        return [self] + above + appended
    }

    /// ``chain(includingRoot:appending:)`` as PEM, one certificate after the other.
    /// - Parameters:
    ///   - includingRoot: Whether the root is sent too.
    ///   - appended: Unrelated certificates, sent after the chain.
    /// - Returns: The PEM of all of them.
    public func chainPEM(includingRoot: Bool = false, appending appended: [TestCertificate] = []) -> String {
        chain(includingRoot: includingRoot, appending: appended).map(\.pem).joined()
    }

    /// ``chainPEM(includingRoot:appending:)`` with its defaults.
    public var chainPEM: String { chainPEM() }
}
