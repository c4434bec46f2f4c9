import ApproovTesting
import Crypto
import Foundation
import Testing

@testable import OHTTP

@Suite("X25519 points of low order")
struct X25519PointTests {
    /// All points of low order, each with and without its highest bit set.
    private static let points = X25519Point.lowOrder.flatMap { point in [point, Array(point.prefix(31)) + [point[31] | 0x80]] }

    @Test("With a point of low order, swift-crypto makes a shared secret of zeros instead of an error", arguments: points)
    func sharedSecret(point: [UInt8]) throws {
        let key = Curve25519.KeyAgreement.PrivateKey()
        let secret = try key.sharedSecretFromKeyAgreement(with: .init(rawRepresentation: point))
        #expect(secret.withUnsafeBytes { $0.allSatisfy { $0 == 0 } })
        #expect(X25519Point.isLowOrder(point))
    }

    @Test("A point of low order is refused as a gateway's key and as an encapsulated key", arguments: points)
    func refused(point: [UInt8]) throws {
        #expect(
            code(as: OHTTPError.self) {
                try KeyConfiguration(id: 1, kem: .x25519, publicKey: point, suites: [.aes128GCM])
            } == .malformedKeyConfiguration)
        let gateway = try GatewayKey(id: 1, suites: [.aes128GCM])
        let message = MessageHeader(keyID: 1, kem: .x25519, suite: .aes128GCM).bytes + point + [UInt8](repeating: 0, count: 100)
        #expect(code(as: OHTTPError.self) { _ = try GatewayKeyring([gateway]).decapsulate(message) } == .decapsulationFailed)
        #expect(
            code(as: OHTTPError.self) {
                let header = MessageHeader(keyID: 1, kem: .x25519, suite: .aes128GCM)
                _ = try GatewayKeyring([gateway]).recipient(header, Data(point), .whole)
            } == .decapsulationFailed)
    }

    @Test("New public keys, and bytes of the wrong length, are not points of low order")
    func others() {
        for _ in 0..<100 { #expect(!X25519Point.isLowOrder(Curve25519.KeyAgreement.PrivateKey().publicKey.rawRepresentation)) }
        #expect(!X25519Point.isLowOrder([]))
        #expect(!X25519Point.isLowOrder([UInt8](repeating: 0, count: 31)))
    }
}
