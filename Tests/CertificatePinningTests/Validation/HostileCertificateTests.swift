import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Testing

@Suite("Certificates that no sound PKI would issue")
struct HostileCertificateTests {
    private let root: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root, commonName: "api.test")
    }

    private func judgeAltered(
        _ certificate: Certificate, _ others: [Certificate] = [], host: String = "api.test", anchors: TrustAnchors? = nil
    ) throws -> Result<ServerTrust, TrustRefusal> {
        let rule = try TrustRule.pinned(certificate.pin)
        return try ChainValidator.evaluate(
            chain: [certificate] + others, host: CanonicalHost(host), rule: rule, defaultAnchors: anchors ?? TrustAnchors(root),
            time: Date())
    }

    @Test("A certificate that is signed again without a change is trusted (the control for the tests below)")
    func unchanged() throws {
        #expect(try judgeAltered(AlteredCertificate.make(leaf, signedBy: root.key)).isTrusted)
    }

    @Test("A SHA-1 signature is refused")
    func sha1() throws {
        #expect(try judgeAltered(AlteredCertificate.make(leaf, signedBy: root.key, digest: EVP_sha1())).reason == .weakSignature)
    }

    @Test("A DNS name with a NUL does not match the name before the NUL")
    func embeddedNUL() throws {
        let certificate = try AlteredCertificate.make(leaf, signedBy: root.key) { x509 in
            try AlteredCertificate.setDNSName(x509, [UInt8]("api.test\0.evil.test".utf8))
        }
        let refusal = try judgeAltered(certificate).refusal
        #expect(refusal?.reason == .hostMismatch)
        #expect(refusal?.description.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) } == true)
    }

    @Test(
        "A wildcard for every host, for several labels or for part of a label matches no host",
        arguments: ["*", "*.*", "*.t*st", "a*.test", "*pi.test"])
    func wildcards(name: String) throws {
        let certificate = try AlteredCertificate.make(leaf, signedBy: root.key) { x509 in
            try AlteredCertificate.setDNSName(x509, [UInt8](name.utf8))
        }
        #expect(try judgeAltered(certificate).reason == .hostMismatch)
    }

    @Test("A DNS name never matches an IP address, even if it spells that address")
    func addressAsName() throws {
        let certificate = try AlteredCertificate.make(leaf, signedBy: root.key) { x509 in
            try AlteredCertificate.setDNSName(x509, [UInt8]("127.0.0.1".utf8))
        }
        #expect(try judgeAltered(certificate, host: "127.0.0.1").reason == .hostMismatch)
        let wildcard = try AlteredCertificate.make(leaf, signedBy: root.key) { x509 in
            try AlteredCertificate.setDNSName(x509, [UInt8]("*.0.0.1".utf8))
        }
        #expect(try judgeAltered(wildcard, host: "127.0.0.1").reason == .hostMismatch)
    }

    @Test("The common name does not count, even if the certificate has no DNS name")
    func commonName() throws {
        let certificate = try AlteredCertificate.make(leaf, signedBy: root.key) { x509 in
            try AlteredCertificate.setExtension(x509, NID_subject_alt_name, "email:admin@api.test")
        }
        #expect(try judgeAltered(certificate).reason == .hostMismatch)
    }

    @Test("A key that may only sign CRLs, or an issuer for clients only, is refused for a TLS server")
    func purposes() throws {
        let forCertificates = try AlteredCertificate.make(leaf, signedBy: root.key) { x509 in
            try AlteredCertificate.setExtension(x509, NID_key_usage, "critical,cRLSign")
        }
        #expect(try judgeAltered(forCertificates).reason == .wrongPurpose)

        let intermediate = try TestPKI.intermediate(issuer: root)
        let forClients = try AlteredCertificate.make(intermediate, signedBy: root.key) { x509 in
            try AlteredCertificate.setExtension(x509, NID_ext_key_usage, "clientAuth")
        }
        let below = try Certificate(TestPKI.leaf(hosts: ["api.test"], issuer: intermediate))
        #expect(try judgeAltered(below, [forClients]).reason == .wrongPurpose)
    }

    @Test(
        "Name constraints of an authority are enforced",
        arguments: [("permitted;DNS:other.test", false), ("excluded;DNS:api.test", false), ("permitted;DNS:api.test", true)])
    func nameConstraints(constraint: String, isTrusted: Bool) throws {
        let intermediate = try TestPKI.intermediate(issuer: root)
        let constrained = try AlteredCertificate.make(intermediate, signedBy: root.key) { x509 in
            try AlteredCertificate.setExtension(x509, NID_name_constraints, "critical,\(constraint)")
        }
        let below = try Certificate(TestPKI.leaf(hosts: ["api.test"], issuer: intermediate))
        #expect(try judgeAltered(below, [constrained]).reason == (isTrusted ? nil : .nameConstraint))
    }

    @Test("A certificate with a trusted issuer's name but signed by another key is refused for its signature")
    func stolenName() throws {
        let impostor = try TestKey()
        let certificate = try AlteredCertificate.make(leaf, signedBy: impostor)
        #expect(try judgeAltered(certificate).reason == .signatureFailure)
    }

    @Test("No chain with a flipped bit is trusted, even if the key is pinned, and none crashes the validator")
    func flipped() throws {
        let anchors = try TrustAnchors(root)
        let host = try CanonicalHost("api.test")
        let rule = try TrustRule.pinned(Pin(leaf.key))
        for index in leaf.der.indices {
            for bit in [UInt8(0x01), 0x80] {
                var der = leaf.der
                der[index] ^= bit
                guard let certificate = try? Certificate(der: der) else { continue }
                let result = ChainValidator.evaluate(chain: [certificate], host: host, rule: rule, defaultAnchors: anchors, time: Date())
                #expect(!result.isTrusted, "byte \(index)")
                #expect((result.refusal?.description.count ?? 0) < 3_000)
            }
        }
    }
}
