internal import struct CertificatePinning.Pin
internal import Crypto
public import Foundation
internal import SwiftASN1
internal import X509

/// The keys and certificates of an authority whose operator provides none.
///
/// It consists of a root certificate, a server certificate under that root, and a backup key. Clients already know the backup key's pin, so
/// it can replace the server's key without losing a client (`AuthorityStore.rotateServerKey()`).
///
/// A renewed certificate keeps the key, so the pins stay the same.
public struct ServerIdentity: Sendable {
    /// The root certificate, PEM; clients trust it instead of the system's roots (`trustRoots`).
    public let rootPEM: String
    /// The server's certificate, PEM.
    public let certificatePEM: String
    /// The server's private key, PEM (PKCS #8).
    ///
    /// Secret.
    public let keyPEM: String
    /// The pins (`sha256/…`) of the server's key and of the backup key.
    public let pins: [String]
    /// The end of the server certificate's validity.
    public let notAfter: Date

    let rootKeyPEM: String
    let backupKeyPEM: String
    let hosts: [String]
    private let validity: ClosedRange<Date>
    private let rootValidity: ClosedRange<Date>

    /// The lifetime of a server certificate, in seconds: 398 days, the longest that web clients accept.
    static let certificateLifetime: TimeInterval = 398 * 86_400
    private static let rootLifetime: TimeInterval = 20 * 365 * 86_400
    /// How far certificates are backdated, in seconds: the clocks of this machine and of clients may differ by that much.
    private static let certificateBackdate: TimeInterval = 86_400
    /// The root is backdated further: apps ship with it, so a root with a wrong validity could be replaced only by new apps.
    private static let rootBackdate: TimeInterval = 30 * 86_400

    /// Makes new keys and certificates.
    /// - Parameters:
    ///   - hosts: The server's names and addresses; `localhost`, 127.0.0.1 and ::1 are always added.
    ///   - now: The current time; the certificates are valid from a day before it, the root from 30 days before it.
    /// - Returns: The identity.
    /// - Throws: ``AuthorityError`` with code `identityFailed` when a certificate cannot be made, for example for a name that is not ASCII.
    public static func make(hosts: [String], now: Date) throws -> ServerIdentity {
        try mappingErrors {
            let rootKey = P256.Signing.PrivateKey()
            let root = try rootCertificate(key: rootKey, now: now)
            return try ServerIdentity(
                rootKey: rootKey, root: root, key: P256.Signing.PrivateKey(), backupKeyPEM: P256.Signing.PrivateKey().pemRepresentation,
                hosts: hosts, now: now)
        }
    }

    /// Makes an identity from existing keys, with a new server certificate.
    /// - Parameters:
    ///   - rootPEM: The root certificate; nil for a new one for `rootKeyPEM`.
    ///   - rootKeyPEM: The root's private key, P-256.
    ///   - keyPEM: The server's private key, P-256.
    ///   - backupKeyPEM: The backup key, P-256.
    ///   - hosts: The server's names and addresses; `localhost`, 127.0.0.1 and ::1 are always added.
    ///   - now: The current time; the certificate is valid from a day before it, a new root from 30 days before it.
    /// - Returns: The identity.
    /// - Throws: ``AuthorityError`` with code `identityFailed` when a key or certificate cannot be parsed or made.
    public static func make(
        rootPEM: String?, rootKeyPEM: String, keyPEM: String, backupKeyPEM: String, hosts: [String], now: Date
    ) throws -> ServerIdentity {
        try mappingErrors {
            let rootKey = try P256.Signing.PrivateKey(pemRepresentation: rootKeyPEM)
            let root = try rootPEM.map { try Certificate(pemEncoded: $0) } ?? rootCertificate(key: rootKey, now: now)
            return try ServerIdentity(
                rootKey: rootKey, root: root, key: P256.Signing.PrivateKey(pemRepresentation: keyPEM), backupKeyPEM: backupKeyPEM,
                hosts: hosts, now: now)
        }
    }

    /// Whether the certificate must be renewed.
    ///
    /// This is so when half of its life is over, when it or its root is not valid now (for example because they were made while the clock
    /// was ahead), or when it lacks one of the hosts.
    func needsRenewal(hosts: [String], now: Date) -> Bool {
        notAfter.timeIntervalSince(now) < Self.certificateLifetime / 2 || !validity.contains(now) || !rootValidity.contains(now)
            || !Set(hosts).isSubset(of: self.hosts)
    }

    /// When the certificate was made by a rotation or a renewal; nil if it is the first one, which was made together with the root.
    ///
    /// The store has no other record of these times.
    var remadeAt: Date? {
        let made = validity.lowerBound.addingTimeInterval(Self.certificateBackdate)
        let rootMade = rootValidity.lowerBound.addingTimeInterval(Self.rootBackdate)
        // Certificates have whole seconds.
        return abs(made.timeIntervalSince(rootMade)) < 1 ? nil : made
    }

    /// The same keys with a new certificate, and with a new root certificate if the present one is not valid now.
    /// - Parameters:
    ///   - hosts: Additional names; those of the old certificate stay.
    ///   - now: The current time; the certificate is valid from a day before it.
    /// - Returns: The identity to save.
    /// - Throws: ``AuthorityError`` with code `identityFailed`.
    func renewed(hosts: [String], now: Date) throws -> ServerIdentity {
        try Self.make(
            rootPEM: rootValidity.contains(now) ? rootPEM : nil, rootKeyPEM: rootKeyPEM, keyPEM: keyPEM, backupKeyPEM: backupKeyPEM,
            hosts: self.hosts + hosts, now: now)
    }

    /// The identity after a key rotation: the backup key becomes the server's key, and a new backup key is made.
    /// - Parameter now: The current time; the certificate is valid from a day before it.
    /// - Returns: The identity to save.
    /// - Throws: ``AuthorityError`` with code `identityFailed`.
    func rotated(now: Date) throws -> ServerIdentity {
        try Self.make(
            rootPEM: rootValidity.contains(now) ? rootPEM : nil, rootKeyPEM: rootKeyPEM, keyPEM: backupKeyPEM,
            backupKeyPEM: P256.Signing.PrivateKey().pemRepresentation,
            hosts: hosts, now: now)
    }

    init(
        rootPEM: String, certificatePEM: String, keyPEM: String, rootKeyPEM: String, backupKeyPEM: String, hosts: [String], notAfter: Date
    ) throws {
        self.rootPEM = rootPEM
        self.certificatePEM = certificatePEM
        self.keyPEM = keyPEM
        self.rootKeyPEM = rootKeyPEM
        self.backupKeyPEM = backupKeyPEM
        self.hosts = hosts
        self.notAfter = notAfter
        (pins, validity, rootValidity) = try Self.mappingErrors {
            (
                try [keyPEM, backupKeyPEM].map { try Self.pin(of: P256.Signing.PrivateKey(pemRepresentation: $0)) },
                try Self.validity(ofCertificate: certificatePEM), try Self.validity(ofCertificate: rootPEM)
            )
        }
    }

    private init(
        rootKey: P256.Signing.PrivateKey, root: Certificate, key: P256.Signing.PrivateKey, backupKeyPEM: String, hosts: [String], now: Date
    ) throws {
        let names = (["localhost", "127.0.0.1", "::1"] + hosts).reduce(into: [String]()) { names, host in
            if !names.contains(host) { names.append(host) }
        }
        let start = now.addingTimeInterval(-Self.certificateBackdate)
        let end = start.addingTimeInterval(Self.certificateLifetime)
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey), notValidBefore: start,
            notValidAfter: end, issuer: root.subject, subject: DistinguishedName { CommonName("Approov authority") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(try names.map(Self.generalName))
            },
            issuerPrivateKey: .init(rootKey))
        try self.init(
            rootPEM: root.serializeAsPEM().pemString, certificatePEM: certificate.serializeAsPEM().pemString,
            keyPEM: key.pemRepresentation, rootKeyPEM: rootKey.pemRepresentation, backupKeyPEM: backupKeyPEM, hosts: names, notAfter: end)
    }

    private static func rootCertificate(key: P256.Signing.PrivateKey, now: Date) throws -> Certificate {
        let name = try DistinguishedName { CommonName("Approov authority root") }
        return try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey), notValidBefore: now.addingTimeInterval(-rootBackdate),
            notValidAfter: now.addingTimeInterval(rootLifetime), issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            },
            issuerPrivateKey: .init(key))
    }

    private static func generalName(_ host: String) throws -> GeneralName {
        var v4 = in_addr()
        if inet_pton(AF_INET, host, &v4) == 1 {
            return .ipAddress(ASN1OctetString(contentBytes: withUnsafeBytes(of: v4) { ArraySlice($0) }))
        }
        var v6 = in6_addr()
        if inet_pton(AF_INET6, host, &v6) == 1 {
            return .ipAddress(ASN1OctetString(contentBytes: withUnsafeBytes(of: v6) { ArraySlice($0) }))
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw AuthorityError(
                .identityFailed, "\(host) is not a host name in ASCII; give the server a name such as authority.example.com")
        }
        return .dnsName(host)
    }

    private static func validity(ofCertificate pem: String) throws -> ClosedRange<Date> {
        let certificate = try Certificate(pemEncoded: pem)
        // A certificate that ends before it begins is never valid.
        return certificate.notValidBefore...max(certificate.notValidBefore, certificate.notValidAfter)
    }

    private static func pin(of key: P256.Signing.PrivateKey) -> String {
        Pin(spki: [UInt8](key.publicKey.derRepresentation)).description
    }

    private static func mappingErrors<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as AuthorityError {
            throw error
        } catch {
            throw AuthorityError(
                .identityFailed, "the server's key or certificate cannot be made or read; check the PEM text", cause: error)
        }
    }
}
