import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("Chains of every kind of key")
struct KeyKindsTests {
    /// Made by OpenSSL, which is quicker at large RSA keys than a debug build.
    private static func key(_ options: [String], in folder: String, name: String) throws -> TestKey {
        let file = "\(folder)/\(name).key"
        try openssl(["genpkey", "-out", file] + options)
        return try TestKey(pem: String(contentsOfFile: file, encoding: .utf8))
    }

    /// The pin as OpenSSL's own tools compute it.
    private static func pin(_ certificate: TestCertificate, in folder: String) throws -> Pin {
        let (pem, publicKey, der) = (folder + "/c.pem", folder + "/c.pub", folder + "/c.der")
        try certificate.pem.write(toFile: pem, atomically: true, encoding: .utf8)
        try openssl(["x509", "-in", pem, "-pubkey", "-noout"]).write(to: URL(filePath: publicKey))
        try openssl(["pkey", "-pubin", "-in", publicKey, "-outform", "der", "-out", der])
        return try Pin(spkiSHA256: [UInt8](openssl(["dgst", "-sha256", "-binary", der])))
    }

    @Test(
        "pin by server, intermediate and root, and the pin is OpenSSL's own",
        arguments: [
            ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"],
            ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096"], ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
            ["-algorithm", "ED25519"],
        ])
    func chain(options: [String]) throws {
        try withTemporaryFolder { folder in
            let root = try TestPKI.root(key: Self.key(options, in: folder, name: "root"))
            let intermediate = try TestPKI.intermediate(issuer: root, key: Self.key(options, in: folder, name: "intermediate"))
            let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate, key: Self.key(options, in: folder, name: "leaf"))
            let anchors = try TrustAnchors(root)
            for certificate in [leaf, intermediate, root] {
                let pin = try Self.pin(certificate, in: folder)
                #expect(try Certificate(certificate).pin == pin)
                #expect(try judge(leaf.chain(), rule: .pinned(pin), anchors: anchors).isTrusted)
            }
            #expect(try judge(leaf.chain(), rule: .pinned(Pin(spki: [1])), anchors: anchors).reason == .pinMismatch)
        }
    }
}
