import ApproovBase
import ApproovTokens
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct AccountSecretTests {
    @Test("A generated secret has 64 bytes and is different each time")
    func generated() {
        let secret = AccountSecret.generate()
        #expect(secret.bytes.count == 64)
        #expect(secret.bytes != AccountSecret.generate().bytes)
        #expect(Base64.decode(secret.base64) == secret.bytes)
        #expect(Base64URL.decode(secret.base64url) == secret.bytes)
    }

    @Test("A secret is read from its printed base64; malformed or short base64 is rejected")
    func base64() throws {
        let secret = AccountSecret.generate()
        #expect(try AccountSecret(base64: secret.base64).bytes == secret.bytes)
        #expect(code { try AccountSecret(base64: "no") } == .malformedKey)
        #expect(code { try AccountSecret(base64: "AAAA") } == .weakKey)
    }

    @Test("One line ending after a secret is accepted; any other white space is rejected")
    func file() throws {
        let secret = AccountSecret.generate()
        let text = secret.base64
        #expect(try AccountSecret(base64: text + "\n").bytes == secret.bytes)
        #expect(try AccountSecret(base64: text + "\r\n").bytes == secret.bytes)
        for other in [
            text + "\n\n", text + "\r\n\r\n", text + "\n\r\n", text + "\r", text + "\n\r", text + " ", text + " \n", " " + text,
            "\n" + text,
            text + "\u{2028}", text + "\u{0b}", text.prefix(40) + "\n" + text.dropFirst(40),
        ] {
            #expect(code { try AccountSecret(base64: other) } == .malformedKey, "\(other.debugDescription.suffix(20))")
        }
        #expect(code { try AccountSecret(base64: "\n") } == .weakKey)
    }

    @Test("A secret of 32 bytes is accepted; 0, 31 and 100,000 bytes are rejected")
    func weak() throws {
        #expect(code { try AccountSecret(bytes: []) } == .weakKey)
        #expect(code { try AccountSecret(bytes: [UInt8](repeating: 1, count: 31)) } == .weakKey)
        _ = try AccountSecret(bytes: [UInt8](repeating: 1, count: 32))
        #expect(code { try AccountSecret(bytes: [UInt8](repeating: 1, count: 100_000)) } == .malformedKey)
    }

    @Test("A PEM file is rejected as a secret")
    func pem() {
        let pem = P256.Signing.PrivateKey().publicKey.pemRepresentation
        for text in [pem, "\n" + pem, "\u{FEFF}" + pem, "# the key of the authority\n" + pem] {
            #expect(code { try AccountSecret(bytes: Array(text.utf8)) } == .malformedKey)
        }
    }

    @Test("Neither the description nor a dump shows key material")
    func hidden() throws {
        let secret = AccountSecret.generate()
        let key = try SigningKey.hs256(secret)
        let pair = try SigningKey.generate(.es256, kid: "k")
        var shown = "\(secret)\(String(reflecting: secret))\(key)\(key.verificationKey)\(pair)"
        dump([secret], to: &shown)
        dump([key, pair], to: &shown)
        dump([key.verificationKey], to: &shown)
        for hidden in [secret.base64, secret.base64url, "BEGIN", "\(secret.bytes[0]), \(secret.bytes[1])", "- \(secret.bytes[0])\n"] {
            #expect(!shown.contains(hidden))
        }
    }
}
