import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Testing

@Suite("Name constraints and the requested host")
struct NameConstraintsTests {
    private let root: TestCertificate
    private let intermediate: TestCertificate

    init() throws {
        root = try TestPKI.root()
        intermediate = try TestPKI.intermediate("Constrained", issuer: root)
    }

    private func constrained(_ constraint: String) throws -> Certificate {
        try AlteredCertificate.make(intermediate, signedBy: root.key) { x509 in
            try AlteredCertificate.setExtension(x509, NID_name_constraints, "critical,\(constraint)")
        }
    }

    private func judge(_ leaf: TestCertificate, _ others: [Certificate], host: String) throws -> Result<ServerTrust, TrustRefusal> {
        try ChainValidator.evaluate(
            chain: [Certificate(leaf)] + others, host: CanonicalHost(host), rule: .pathValidation, defaultAnchors: TrustAnchors(root),
            time: Date(), searchLimit: .untimed)
    }

    @Test(
        "A wildcard certificate does not bypass the name constraints on the requested host (CVE-2025-61727)",
        arguments: [
            ("excluded;DNS:bar.example.test", "bar.example.test", false), ("excluded;DNS:bar.example.test", "foo.example.test", true),
            ("excluded;DNS:BAR.example.test", "bar.example.test", false), ("excluded;DNS:x.bar.example.test", "bar.example.test", true),
            ("excluded;DNS:example.test", "bar.example.test", false), ("permitted;DNS:example.test", "bar.example.test", true),
            ("permitted;DNS:*.example.test", "bar.example.test", false), ("permitted;DNS:bar.example.test", "bar.example.test", false),
            ("excluded;email:bar.example.test", "bar.example.test", true),
        ])
    func wildcard(constraint: String, host: String, isTrusted: Bool) throws {
        let leaf = try TestPKI.leaf(hosts: ["*.example.test"], issuer: intermediate)
        let refusal = try judge(leaf, [constrained(constraint)], host: host).refusal
        #expect(refusal?.reason == (isTrusted ? nil : .nameConstraint))
    }

    @Test("The refusal names the host and the authority that excludes it")
    func message() throws {
        let leaf = try TestPKI.leaf(hosts: ["*.example.test"], issuer: intermediate)
        let refusal = try #require(try judge(leaf, [constrained("excluded;DNS:bar.example.test")], host: "bar.example.test").refusal)
        #expect(refusal.detail.contains("bar.example.test is outside the name constraints of \"CN=Constrained\""))
        #expect(refusal.detail.contains("get a certificate"))
    }

    @Test("Name constraints of the root are enforced too")
    func constrainedRoot() throws {
        let constrained = try AlteredCertificate.make(root, signedBy: root.key) { x509 in
            try AlteredCertificate.setExtension(x509, NID_name_constraints, "critical,excluded;DNS:bar.example.test")
        }
        let leaf = try Certificate(TestPKI.leaf(hosts: ["*.example.test"], issuer: root))
        for (host, reason) in [("bar.example.test", TrustRefusal.Reason.nameConstraint), ("foo.example.test", nil)] {
            let result = try ChainValidator.evaluate(
                chain: [leaf], host: CanonicalHost(host), rule: .pathValidation,
                defaultAnchors: TrustAnchors(certificates: [constrained]), time: Date())
            #expect(result.reason == reason)
        }
    }

    @Test("If one path excludes the host, the validator uses another path that does not")
    func otherPath() throws {
        let leaf = try TestPKI.leaf(hosts: ["*.example.test"], issuer: intermediate)
        let excluding = try constrained("excluded;DNS:bar.example.test")
        let free = try Certificate(intermediate)
        for others in [[excluding, free], [free, excluding]] {
            let trust = try judge(leaf, others, host: "bar.example.test").get()
            #expect(trust.chain[1].der == intermediate.der)
        }
    }

    @Test("The names of a certificate whose issuer has constraints and no root are refused for the missing issuer")
    func unrooted() throws {
        let leaf = try TestPKI.leaf(hosts: ["*.example.test"], issuer: intermediate)
        let result = try ChainValidator.evaluate(
            chain: [Certificate(leaf), constrained("excluded;DNS:bar.example.test")], host: CanonicalHost("bar.example.test"),
            rule: .pathValidation, defaultAnchors: TrustAnchors(TestPKI.root("Other")), time: Date(), searchLimit: .untimed)
        #expect(result.reason == .incompletePath)
    }

    @Test("For a server reached by its address, name constraints apply to the address, not to the common name")
    func commonName() throws {
        let leaf = try TestPKI.leaf(hosts: ["10.1.2.3"], issuer: intermediate, commonName: "looks.like.test")
        #expect(try judge(leaf, [constrained("permitted;DNS:other.test")], host: "10.1.2.3").isTrusted)
        #expect(try judge(leaf, [constrained("excluded;DNS:looks.like.test")], host: "10.1.2.3").isTrusted)
        // The address itself is checked.
        #expect(try judge(leaf, [constrained("excluded;IP:10.1.2.0/255.255.255.0")], host: "10.1.2.3").reason == .nameConstraint)
        #expect(try judge(leaf, [constrained("permitted;DNS:other.test")], host: "looks.like.test").reason == .hostMismatch)
        let named = try TestPKI.leaf(hosts: ["10.1.2.3", "looks.like.test"], issuer: intermediate)
        #expect(try judge(named, [constrained("permitted;DNS:other.test")], host: "10.1.2.3").reason == .nameConstraint)
    }
}
