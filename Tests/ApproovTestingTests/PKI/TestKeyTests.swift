import ApproovTesting
import CertificatePinning
import Foundation
import Testing
import SwiftASN1
import X509

@Suite("Keys of the test PKI")
struct TestKeyTests {
    @Test(
        "A key of every type signs its own certificate, and its pin matches",
        arguments: [TestKeyType.rsa2048, .p256, .p384, .p521, .ed25519])
    func everyType(type: TestKeyType) throws {
        let key = try TestKey(type)
        let root = try TestPKI.root(key: key)
        let certificate = try X509.Certificate(derEncoded: root.der)
        #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
        #expect(key.pin.bytes == key.spkiSHA256)
        // Another parser computes the pin from the certificate.
        #expect(try CertificatePinning.Certificate(der: root.der).pin == root.pin)
    }

    @Test("A key read from its own PEM is the same key")
    func roundTrip() throws {
        let key = try TestKey()
        #expect(try TestKey(pem: key.privateKeyPEM).spki == key.spki)
    }

    @Test("Text that is not a key is rejected")
    func notAKey() {
        #expect(throws: (any Error).self) { try TestKey(pem: "not a key") }
    }
}
