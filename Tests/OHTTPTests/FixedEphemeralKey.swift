import Crypto
import Foundation

@testable import OHTTP

/// An X25519 public key that always encapsulates with a fixed ephemeral key, to reproduce the published examples.
///
/// swift-crypto makes the ephemeral key with `EphemeralPrivateKey.init()`, which has no arguments. So a task-local value passes the key.
struct FixedEphemeralKey: HPKEDiffieHellmanPublicKey {
    @TaskLocal static var ephemeral = [UInt8](repeating: 1, count: 32)

    struct EphemeralPrivateKey: HPKEDiffieHellmanPrivateKeyGeneration {
        let key: Curve25519.KeyAgreement.PrivateKey

        init() {
            // The tests set 32 bytes. Any other number gives a random key, which matches no example.
            key = (try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: FixedEphemeralKey.ephemeral)) ?? .init()
        }

        var publicKey: FixedEphemeralKey { FixedEphemeralKey(key: key.publicKey) }

        func sharedSecretFromKeyAgreement(with share: FixedEphemeralKey) throws -> SharedSecret {
            try key.sharedSecretFromKeyAgreement(with: share.key)
        }
    }

    let key: Curve25519.KeyAgreement.PublicKey

    init(key: Curve25519.KeyAgreement.PublicKey) {
        self.key = key
    }

    init(_ serialization: some ContiguousBytes, kem: HPKE.KEM) throws {
        key = try Curve25519.KeyAgreement.PublicKey(serialization, kem: kem)
    }

    func hpkeRepresentation(kem: HPKE.KEM) throws -> Data { try key.hpkeRepresentation(kem: kem) }

    /// A sender like the one that `KeyConfiguration.sender` makes, with this ephemeral key.
    static func sender(
        to configuration: KeyConfiguration, _ header: MessageHeader, _ variant: Variant, ephemeral: [UInt8]
    ) throws -> HPKE.Sender {
        try $ephemeral.withValue(ephemeral) {
            let recipient = try FixedEphemeralKey(configuration.publicKey, kem: header.kem.hpke)
            return try HPKE.Sender(recipientKey: recipient, ciphersuite: header.ciphersuite, info: header.info(variant))
        }
    }
}
