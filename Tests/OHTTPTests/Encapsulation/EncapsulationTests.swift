import ApproovTesting
import Foundation
import Testing

@testable import OHTTP

@Suite("Encapsulation of whole messages")
struct EncapsulationTests {
    @Test(
        "Encapsulation works in both directions with every KEM, cipher and key derivation", arguments: KeyConfiguration.KEM.allCases,
        SymmetricSuite.AEAD.allCases)
    func everyAlgorithm(kem: KeyConfiguration.KEM, aead: SymmetricSuite.AEAD) throws {
        for kdf in SymmetricSuite.KDF.allCases {
            try roundTrip(GatewayKey(id: 9, kem: kem, suites: [SymmetricSuite(kdf: kdf, aead: aead)]), count: 100)
        }
    }

    @Test(
        "Encapsulation works in both directions for messages from 0 bytes to 1 MiB",
        arguments: [0, 1, 15, 205, 1024, 16_384, 65_496, 65_536, 65_537, 262_144, 1_048_576])
    func everySize(count: Int) throws {
        try roundTrip(GatewayKey(id: 0), count: count)
    }

    private func roundTrip(_ key: GatewayKey, count: Int) throws {
        let question = pattern(count)
        let sealed = try key.configuration.encapsulate(question)
        #expect(sealed.message.count == 7 + key.configuration.kem.encapsulatedKeySize + count + 16)
        let opened = try GatewayKeyring([key]).decapsulate(sealed.message)
        let keyID = opened.keyID
        #expect(keyID == key.configuration.id)
        let enc = opened.encapsulatedKey
        #expect(enc == [UInt8](sealed.message.dropFirst(7).prefix(key.configuration.kem.encapsulatedKeySize)))
        #expect(opened.request == Data(question))
        let answer = pattern(count, seed: 2)
        let response = try opened.response.seal(answer)
        // Nonce, answer and tag (RFC 9458, section 4.4): the nonce has max(Nn, Nk) bytes.
        let nonceSize = key.configuration.suites[0].aead == .aes128GCM ? 16 : 32
        #expect(response.count == nonceSize + count + 16)
        let received = try sealed.response.open(response)
        #expect(received == Data(answer))
    }

    @Test("Encapsulation takes Data, arrays and slices of both")
    func inputs() throws {
        let key = try GatewayKey(id: 1)
        let keyring = try GatewayKeyring([key])
        let bytes = pattern(100)
        for offset in [0, 10] {
            let sealed = try key.configuration.encapsulate(Data(bytes).dropFirst(offset))
            let opened = try keyring.decapsulate(([1, 2] + [UInt8](sealed.message)).dropFirst(2))
            #expect(opened.request == Data(bytes.dropFirst(offset)))
            let response = try opened.response.seal(bytes.dropFirst(offset))
            let received = try sealed.response.open((Data([1]) + Data(response)).dropFirst())
            #expect(received == Data(bytes.dropFirst(offset)))
        }
    }

    @Test("An older key of the keyring still opens requests, and the result names the key")
    func rotation() throws {
        let old = try GatewayKey(id: 1)
        let new = try GatewayKey(id: 2)
        let keyring = try GatewayKeyring([new, old])
        let sealed = try old.configuration.encapsulate([1])
        let opened = try keyring.decapsulate(sealed.message)
        let keyID = opened.keyID
        #expect(keyID == 1)
        #expect(keyring.configurations.configurations.map(\.id) == [2, 1])
        #expect(code(as: OHTTPError.self) { _ = try GatewayKeyring([new]).decapsulate(sealed.message) } == .decapsulationFailed)
    }

    @Test("The client's context opens a response that another task has made")
    func acrossTasks() async throws {
        let key = try GatewayKey(id: 1)
        let sealed = try key.configuration.encapsulate([1, 2])
        let message = sealed.message
        let response = try await Task {
            let opened = try GatewayKeyring([key]).decapsulate(message)
            return try opened.response.seal([3])
        }.value
        let received = try sealed.response.open(response)
        #expect(received == Data([3]))
    }
}
