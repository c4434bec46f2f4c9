import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Testing

@Suite("Reasons why no path is valid")
struct PathFailureTests {
    private let root: TestCertificate
    private let intermediate: TestCertificate
    private let leaf: TestCertificate
    /// A key identifier that belongs to no key.
    private let foreignIdentifier = "DER:30:05:80:03:09:09:09"

    init() throws {
        root = try TestPKI.root()
        intermediate = try TestPKI.intermediate(issuer: root)
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
    }

    private func refusal(_ chain: [Certificate], _ anchors: TrustAnchors) throws -> TrustRefusal {
        let result = try ChainValidator.evaluate(
            chain: chain, host: CanonicalHost("api.test"), rule: .pathValidation, defaultAnchors: anchors, time: Date(),
            searchLimit: .untimed)
        return try #require(result.refusal)
    }

    private func altered(
        _ certificate: TestCertificate, by issuer: TestCertificate, _ identifier: Int32, _ value: String
    ) throws -> Certificate {
        try AlteredCertificate.make(certificate, signedBy: issuer.key) { try AlteredCertificate.setExtension($0, identifier, value) }
    }

    @Test(
        "The refusal names a malformed extension, both of a server and of an issuer", arguments: ["DER:02:01:05", "DER:30:03:82:05:61"])
    func malformed(value: String) throws {
        let anchors = try TrustAnchors(root)
        let server = try altered(leaf, by: intermediate, NID_subject_alt_name, value)
        let refusal = try refusal([server, Certificate(intermediate)], anchors)
        #expect(refusal.reason == .malformedCertificate)
        #expect(refusal.detail.contains("X509v3 Subject Alternative Name"))
        let issuer = try altered(intermediate, by: root, NID_subject_alt_name, value)
        let other = try self.refusal([Certificate(leaf), issuer], anchors)
        #expect(other.detail.contains("\"CN=Test Intermediate\" is present"))
        #expect(other.detail.contains("X509v3 Subject Alternative Name"))
    }

    @Test("The refusal says that an issuer with the right name is present, but has another key identifier")
    func keyIdentifier() throws {
        let server = try altered(leaf, by: intermediate, NID_authority_key_identifier, foreignIdentifier)
        let refusal = try refusal([server, Certificate(intermediate)], TrustAnchors(root))
        #expect(refusal.reason == .incompletePath)
        #expect(refusal.detail.contains("\"CN=Test Intermediate\" is present"))
        #expect(refusal.detail.contains("authority key identifier"))
    }

    @Test("A root whose authority key identifier names another key is rejected with the reason")
    func rootKeyIdentifier() throws {
        let flawed = try altered(root, by: root, NID_authority_key_identifier, foreignIdentifier)
        let error = #expect(throws: PinningError.self) { try TrustAnchors(certificates: [flawed]) }
        #expect(error?.code == .noAnchors)
        #expect(error?.message.contains("\"CN=Test Root\" cannot be a root") == true)
        #expect(error?.message.contains("authority key identifier") == true)
        // It is no anchor beside a sound root either.
        let anchors = try TrustAnchors(certificates: [flawed, Certificate(TestPKI.root("Other"))])
        let refusal = try refusal([Certificate(leaf), Certificate(intermediate)], anchors)
        #expect(refusal.detail.contains("names itself as its issuer"))
        #expect(refusal.detail.contains("authority key identifier"))
    }

    @Test("If the only given root is an intermediate, the error says that it is not a self-signed root")
    func intermediateAsRoot() throws {
        let error = #expect(throws: PinningError.self) { try TrustAnchors(intermediate) }
        #expect(error?.message.contains("self-signed root") == true)
    }

    @Test("If the root is really missing, the refusal says that there is no issuer")
    func missing() throws {
        let refusal = try refusal([Certificate(leaf), Certificate(intermediate)], TrustAnchors(TestPKI.root("Other")))
        #expect(refusal.reason == .incompletePath)
        #expect(refusal.detail.contains("no issuer of"))
    }
}
