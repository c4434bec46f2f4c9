import ApproovTesting
import CertificatePinning
import Foundation
import Testing
import SwiftASN1
import X509

@Suite("Keys of the test PKI")
struct TestKeyTests {
    @Test("a key of every type certifies itself", arguments: [TestKeyType.rsa2048, .p256, .p384, .p521, .ed25519])
    func everyType(type: TestKeyType) throws {
        let key = try TestKey(type)
        let root = try TestPKI.root(key: key)
        let certificate = try X509.Certificate(derEncoded: root.der)
        #expect(certificate.publicKey.isValidSignature(certificate.signature, for: certificate))
        #expect(key.pin.bytes == key.spkiSHA256)
        // The certificate's own view of the key, by another library.
        #expect(try CertificatePinning.Certificate(der: root.der).pin == root.pin)
    }

    @Test("a key read from its own PEM is the same key")
    func roundTrip() throws {
        let key = try TestKey()
        #expect(try TestKey(pem: key.privateKeyPEM).spki == key.spki)
    }

    @Test("text that is no key is refused")
    func notAKey() {
        #expect(throws: (any Error).self) { try TestKey(pem: "not a key") }
    }
}
