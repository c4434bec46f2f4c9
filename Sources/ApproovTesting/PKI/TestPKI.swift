import Crypto
public import Foundation
import SwiftASN1
import X509

/// Mints certificates for tests and demonstrations: roots, intermediates and leaves, valid or with chosen flaws.
///
///     let root = try TestPKI.root()
///     let leaf = try TestPKI.leaf(hosts: ["api.test", "127.0.0.1"], issuer: root)
///     let server = try await TestHTTPServer.start(certificate: leaf) { … }
///
/// Each call mints a fresh certificate, so no certificate of a test suite expires. Never trust these roots outside tests.
public enum TestPKI {
    /// Mints a self-signed certificate authority.
    /// - Parameters:
    ///   - name: The common name.
    ///   - key: The key; a new P-256 key by default.
    ///   - pathLength: The path length constraint (RFC 5280, section 4.2.1.9): how many intermediates may follow; `nil` for any number.
    ///   - validity: The period of validity; by default ten years from a day ago.
    ///   - flaws: The certificate's flaws.
    /// - Returns: The certificate with its key.
    /// - Throws: When the certificate cannot be made.
    public static func root(
        _ name: String = "Test Root", key: TestKey? = nil, pathLength: Int? = nil, validity: ClosedRange<Date>? = nil,
        flaws: Set<TestFlaw> = []
    ) throws -> TestCertificate {
        try authority(name, key: key ?? TestKey(), issuer: nil, pathLength: pathLength, validity: validity, flaws: flaws)
    }

    /// Mints a certificate authority below another one.
    /// - Parameters:
    ///   - name: The common name.
    ///   - issuer: The certificate authority that signs it.
    ///   - key: The key; a new P-256 key by default.
    ///   - pathLength: The path length constraint (RFC 5280, section 4.2.1.9): how many intermediates may follow; `nil` for any number.
    ///   - validity: The period of validity; by default ten years from a day ago.
    ///   - revocation: The URLs in the certificate at which its revocation can be looked up.
    ///   - flaws: The certificate's flaws.
    /// - Returns: The certificate with its key.
    /// - Throws: When the certificate cannot be made.
    public static func intermediate(
        _ name: String = "Test Intermediate", issuer: TestCertificate, key: TestKey? = nil, pathLength: Int? = nil,
        validity: ClosedRange<Date>? = nil, revocation: TestRevocation = TestRevocation(), flaws: Set<TestFlaw> = []
    ) throws -> TestCertificate {
        try authority(
            name, key: key ?? TestKey(), issuer: issuer, pathLength: pathLength, validity: validity, revocation: revocation, flaws: flaws)
    }

    /// Certifies an existing authority's name and key by another issuer, so that the certificates it signed have two paths.
    /// - Parameters:
    ///   - certificate: The certificate authority, a root or an intermediate.
    ///   - issuer: The certificate authority that signs the new certificate.
    ///   - pathLength: The path length constraint (RFC 5280, section 4.2.1.9): how many intermediates may follow; `nil` for any number.
    ///   - validity: The period of validity; by default ten years from a day ago.
    ///   - flaws: The certificate's flaws.
    /// - Returns: A certificate with the subject and key of `certificate` and `issuer` above it.
    /// - Throws: When the certificate cannot be made.
    public static func crossSign(
        _ certificate: TestCertificate, by issuer: TestCertificate, pathLength: Int? = nil, validity: ClosedRange<Date>? = nil,
        flaws: Set<TestFlaw> = []
    ) throws -> TestCertificate {
        try mint(
            subject: certificate.x509.subject, key: certificate.key, issuer: issuer, validity: validity, flaws: flaws,
            extensions: authorityExtensions(pathLength: pathLength, flaws: flaws))
    }

    /// Mints a server's certificate.
    /// - Parameters:
    ///   - hosts: DNS names, `*.` wildcards and IP addresses for the subject alternative name.
    ///   - issuer: The certificate authority that signs it; `nil` makes it self-signed.
    ///   - commonName: The subject's common name; the first host by default.
    ///   - key: The key; a new P-256 key by default.
    ///   - validity: The period of validity; by default 90 days from a day ago.
    ///   - revocation: The URLs in the certificate at which its revocation can be looked up.
    ///   - flaws: The certificate's flaws.
    /// - Returns: The certificate with its key.
    /// - Throws: When the certificate cannot be made.
    public static func leaf(
        hosts: [String], issuer: TestCertificate?, commonName: String? = nil, key: TestKey? = nil,
        validity: ClosedRange<Date>? = nil, revocation: TestRevocation = TestRevocation(), flaws: Set<TestFlaw> = []
    ) throws -> TestCertificate {
        let names = flaws.contains(.wrongHost) ? ["wrong-host.test"] : hosts
        let isCA = flaws.contains(.leafIsCA)
        var extensions = try Certificate.Extensions([
            .init(isCA ? BasicConstraints.isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority, critical: true),
            .init(KeyUsage(digitalSignature: true, keyCertSign: isCA), critical: true),
            .init(ExtendedKeyUsage([flaws.contains(.clientAuthOnly) ? .clientAuth : .serverAuth]), critical: false),
        ])
        if !flaws.contains(.commonNameOnly) {
            try extensions.append(.init(SubjectAlternativeNames(names.map(generalName(of:))), critical: false))
        }
        try revocation.add(to: &extensions)
        return try mint(
            subject: DistinguishedName { CommonName(commonName ?? hosts.first ?? "leaf") }, key: key ?? TestKey(), issuer: issuer,
            validity: validity ?? Self.validity(days: 90), flaws: flaws, extensions: extensions)
    }

    private static func authority(
        _ name: String, key: TestKey, issuer: TestCertificate?, pathLength: Int?, validity: ClosedRange<Date>?,
        revocation: TestRevocation = TestRevocation(), flaws: Set<TestFlaw>
    ) throws -> TestCertificate {
        var extensions = try authorityExtensions(pathLength: pathLength, flaws: flaws)
        try revocation.add(to: &extensions)
        return try mint(
            subject: DistinguishedName { CommonName(name) }, key: key, issuer: issuer, validity: validity, flaws: flaws,
            extensions: extensions)
    }

    /// Mints a certificate for an OCSP responder to which the issuer delegates (RFC 6960, section 4.2.2.2).
    /// - Parameters:
    ///   - issuer: The certificate authority that signs it.
    ///   - isAuthorized: Whether its extended key usage authorizes it to answer for the issuer.
    ///   - validity: The period of validity; by default 90 days from a day ago.
    /// - Returns: The certificate with its key.
    /// - Throws: When the certificate cannot be made.
    public static func ocspResponder(
        issuer: TestCertificate, isAuthorized: Bool = true, validity: ClosedRange<Date>? = nil
    ) throws -> TestCertificate {
        let extensions = try Certificate.Extensions([
            .init(BasicConstraints.notCertificateAuthority, critical: true),
            .init(KeyUsage(digitalSignature: true), critical: true),
            .init(ExtendedKeyUsage([isAuthorized ? .ocspSigning : .serverAuth]), critical: false),
        ])
        return try mint(
            subject: DistinguishedName { CommonName("Test Responder") }, key: TestKey(), issuer: issuer,
            validity: validity ?? Self.validity(days: 90), flaws: [], extensions: extensions)
    }

    private static func authorityExtensions(pathLength: Int?, flaws: Set<TestFlaw>) throws -> Certificate.Extensions {
        let mayCertify = !flaws.contains(.wrongKeyUsage)
        var extensions = try Certificate.Extensions([
            .init(KeyUsage(digitalSignature: true, keyCertSign: mayCertify, cRLSign: true), critical: true)
        ])
        if !flaws.contains(.noBasicConstraints) {
            let constraints =
                flaws.contains(.notACA)
                ? BasicConstraints.notCertificateAuthority : .isCertificateAuthority(maxPathLength: pathLength)
            try extensions.append(.init(constraints, critical: true))
        }
        return extensions
    }

    private static func mint(
        subject: DistinguishedName, key: TestKey, issuer: TestCertificate?, validity: ClosedRange<Date>?, flaws: Set<TestFlaw>,
        extensions: Certificate.Extensions
    ) throws -> TestCertificate {
        var extensions = extensions
        let publicKey = key.privateKey.publicKey
        try extensions.append(.init(SubjectKeyIdentifier(hash: publicKey), critical: false))
        if let issuer {
            let identifier = SubjectKeyIdentifier(hash: issuer.key.privateKey.publicKey)
            try extensions.append(.init(AuthorityKeyIdentifier(keyIdentifier: identifier.keyIdentifier), critical: false))
        }
        if flaws.contains(.unknownCriticalExtension) {
            // An OID arc for examples (RFC 7299), which has no assigned meaning. The value is an ASN.1 NULL.
            try extensions.append(.init(oid: [1, 3, 6, 1, 4, 1, 32473, 1], critical: true, value: [0x05, 0x00]))
        }
        let validity = flawed(validity ?? Self.validity(days: 3650), by: flaws)
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: publicKey,
            notValidBefore: validity.lowerBound, notValidAfter: validity.upperBound,
            issuer: issuer?.x509.subject ?? subject, subject: subject, extensions: extensions,
            issuerPrivateKey: (issuer?.key ?? key).privateKey)
        let issuers = issuer.map { [$0] + $0.issuers } ?? []
        return try TestCertificate(certificate, key: key, issuers: issuers, flaws: flaws)
    }

    private static let day: TimeInterval = 86_400

    private static func validity(days: Double) -> ClosedRange<Date> {
        let now = Date()
        return now.addingTimeInterval(-day)...now.addingTimeInterval(days * day)
    }

    private static func flawed(_ validity: ClosedRange<Date>, by flaws: Set<TestFlaw>) -> ClosedRange<Date> {
        let now = Date()
        if flaws.contains(.expired) { return now.addingTimeInterval(-30 * day)...now.addingTimeInterval(-day) }
        if flaws.contains(.notYetValid) { return now.addingTimeInterval(day)...now.addingTimeInterval(30 * day) }
        return validity
    }

    private static func generalName(of host: String) -> GeneralName {
        var v4 = in_addr()
        if inet_pton(AF_INET, host, &v4) == 1 {
            return .ipAddress(ASN1OctetString(contentBytes: withUnsafeBytes(of: &v4) { Array($0)[...] }))
        }
        var v6 = in6_addr()
        if inet_pton(AF_INET6, host, &v6) == 1 {
            return .ipAddress(ASN1OctetString(contentBytes: withUnsafeBytes(of: &v6) { Array($0)[...] }))
        }
        return .dnsName(host)
    }
}
