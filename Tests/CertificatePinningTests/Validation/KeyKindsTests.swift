import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("Chains with every kind of key")
struct KeyKindsTests {
    /// Made by OpenSSL, which generates large RSA keys faster than a debug build does.
    private static func key(_ options: [String], in folder: TemporaryFolder, name: String) async throws -> TestKey {
        try await openssl(["genpkey", "-out", folder.path(name)] + options)
        return try TestKey(pem: folder.text(name))
    }

    /// The pin as OpenSSL's own tools compute it.
    private static func pin(_ certificate: TestCertificate, in folder: TemporaryFolder) async throws -> Pin {
        let pem = try folder.write(certificate.pem, to: "c.pem")
        let publicKey = try folder.write([UInt8](await openssl("x509", "-in", pem, "-pubkey", "-noout")), to: "c.pub")
        let der = folder.path("c.der")
        try await openssl("pkey", "-pubin", "-in", publicKey, "-outform", "der", "-out", der)
        return try await Pin(spkiSHA256: [UInt8](openssl("dgst", "-sha256", "-binary", der)))
    }

    @Test(
        "The pin equals the one that OpenSSL's tools compute, and may be the server's, intermediate's or root's",
        arguments: [
            ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"],
            ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096"], ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
            ["-algorithm", "ED25519"],
        ])
    func chain(options: [String]) async throws {
        let folder = try TemporaryFolder()
        let root = try await TestPKI.root(key: Self.key(options, in: folder, name: "root"))
        let intermediate = try await TestPKI.intermediate(issuer: root, key: Self.key(options, in: folder, name: "intermediate"))
        let leaf = try await TestPKI.leaf(hosts: ["api.test"], issuer: intermediate, key: Self.key(options, in: folder, name: "leaf"))
        let anchors = try TrustAnchors(root)
        for certificate in [leaf, intermediate, root] {
            let pin = try await Self.pin(certificate, in: folder)
            #expect(try Certificate(certificate).pin == pin)
            #expect(try judge(leaf.chain(), rule: .pinned(pin), anchors: anchors).isTrusted)
        }
        #expect(try judge(leaf.chain(), rule: .pinned(Pin(spki: [1])), anchors: anchors).reason == .pinMismatch)
    }
}
