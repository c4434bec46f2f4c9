import Crypto
import Foundation
import Testing

@testable import OHTTP

@Suite("HPKE keys")
struct HPKEKeysTests {
    @Test(
        "HPKE opens the RFC 9180 examples for X25519 and P-256 with every cipher, and exports their secrets",
        .enabled(if: Vectors.areThere, Vectors.whereTheyAre))
    func vectors() throws {
        let vectors = try #require(try Vectors.load("rfc9180-hpke-base.json")["vectors"] as? [[String: Any]])
        var opened = 0
        for vector in vectors {
            let number = { (name: String) in (vector[name] as? Int).flatMap { UInt16(exactly: $0) } ?? 0 }
            // OHTTP cannot use one cipher of the examples, export-only.
            guard let aead = SymmetricSuite.AEAD(rawValue: number("aead_id")) else { continue }
            let kem = try #require(KeyConfiguration.KEM(rawValue: number("kem_id")))
            let kdf = try #require(SymmetricSuite.KDF(rawValue: number("kdf_id")))
            let header = MessageHeader(keyID: 0, kem: kem, suite: SymmetricSuite(kdf: kdf, aead: aead))
            let key = try HPKEPrivateKey(kem, try bytes(vector, "skRm"))
            #expect(key.publicKey == (try bytes(vector, "pkRm")))
            let enc = try bytes(vector, "enc")
            #expect(enc.count == kem.encapsulatedKeySize)
            var recipient = try key.recipient(header.ciphersuite, info: Data(try bytes(vector, "info")), encapsulatedKey: Data(enc))
            for message in try #require(vector["encryptions"] as? [[String: Any]]).prefix(5) {
                let plaintext = try recipient.open(try bytes(message, "ct"), authenticating: try bytes(message, "aad"))
                #expect([UInt8](plaintext) == (try bytes(message, "pt")))
                opened += 1
            }
            for export in try #require(vector["exports"] as? [[String: Any]]) {
                let length = try #require(export["L"] as? Int)
                let secret = try recipient.exportSecret(context: try bytes(export, "exporter_context"), outputByteCount: length)
                #expect(secret.withUnsafeBytes { [UInt8]($0) } == (try bytes(export, "exported_value")))
            }
        }
        #expect(opened == 30)
    }

    private func bytes(_ object: [String: Any], _ name: String) throws -> [UInt8] {
        let hex = try #require(object[name] as? String)
        return try #require(Hex.decode(hex))
    }
}
