import ApproovBase
import Testing

@Suite struct PEMTextTests {
    @Test("The labels tell whether a text is PEM, and whether it holds a certificate or a private key")
    func labels() {
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        #expect(PEMText.isPEM(Array("text\n\(certificate)".utf8)))
        #expect(!PEMText.isPEM([0x30, 0x82, 0x01, 0x0A]))
        #expect(!PEMText.isPEM([]))
        #expect(PEMText.hasCertificate(certificate))
        #expect(!PEMText.hasCertificate("-----BEGIN CERTIFICATE-----\nAAAA\n"))
        #expect(!PEMText.hasPrivateKey(certificate))
        for kind in ["", "EC ", "RSA ", "ENCRYPTED "] { #expect(PEMText.hasPrivateKey("-----BEGIN \(kind)PRIVATE KEY-----")) }
    }
}
