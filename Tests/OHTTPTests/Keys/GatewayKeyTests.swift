import ApproovTesting
import Foundation
import Testing

@testable import OHTTP

@Suite("Gateway keys")
struct GatewayKeyTests {
    @Test("A key that was serialized and read again opens a request sealed before", arguments: KeyConfiguration.KEM.allCases)
    func roundTrip(kem: KeyConfiguration.KEM) throws {
        let key = try GatewayKey(id: 200, kem: kem, suites: [.chaCha20Poly1305, .aes128GCM])
        let sealed = try key.configuration.encapsulate([1, 2, 3])
        let again = try GatewayKey(serialized: key.serialized())
        #expect(again.configuration == key.configuration)
        let opened = try GatewayKeyring([again]).decapsulate(sealed.message)
        #expect(opened.request == Data([1, 2, 3]))
    }

    @Test("Two new keys are different")
    func fresh() throws {
        #expect(try GatewayKey(id: 1).configuration.publicKey != GatewayKey(id: 1).configuration.publicKey)
    }

    @Test(
        "A serialized key cut off at any byte, or with any byte of its keys changed, is refused", arguments: KeyConfiguration.KEM.allCases)
    func damaged(kem: KeyConfiguration.KEM) throws {
        let bytes = try GatewayKey(id: 1, kem: kem, suites: [.aes128GCM]).serialized()
        for count in stride(from: 0, to: bytes.count, by: kem == .xWing ? 97 : 1) {
            #expect(throws: OHTTPError.self) { try GatewayKey(serialized: bytes.prefix(count)) }
        }
        // The identifier and the suites stay unchanged, because other values for them are valid.
        let keys = Array(3..<3 + kem.publicKeySize) + Array(bytes.count - 32..<bytes.count)
        for index in keys.indices where kem != .xWing || index.isMultiple(of: 97) {
            var bad = bytes
            bad[keys[index]] ^= 0x08
            #expect(throws: OHTTPError.self) { try GatewayKey(serialized: bad) }
        }
    }

    @Test("A private key of the wrong size is refused", arguments: [0, 31, 33, 64])
    func sizes(count: Int) {
        for kem in KeyConfiguration.KEM.allCases {
            #expect(
                code(as: OHTTPError.self) {
                    try GatewayKey(id: 1, kem: kem, privateKey: [UInt8](repeating: 1, count: count), suites: [.aes128GCM])
                } == .malformedKey)
        }
    }

    @Test("A key without suites is refused")
    func noSuites() {
        #expect(code(as: OHTTPError.self) { try GatewayKey(id: 1, suites: []) } == .malformedKeyConfiguration)
    }
}
