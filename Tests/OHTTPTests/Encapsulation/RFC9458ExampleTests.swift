import Crypto
import Foundation
import HTTPTypes
import Testing

@testable import OHTTP

/// The values of RFC 9458, appendix A.
private enum Example {
    static let serverSecretKey = Hex.bytes("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
    static let keyConfiguration = Hex.bytes("01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003")
    static let ephemeralSecretKey = Hex.bytes("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73")
    static let encapsulatedKey = Hex.bytes("4b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b472")
    static let info = Hex.bytes("6d6573736167652f626874747020726571756573740001002000010001")
    static let request = Hex.bytes("00034745540568747470730b6578616d706c652e636f6d012f")
    static let encapsulatedRequest = Hex.bytes(
        """
        010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e
        1268c594d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525
        """)
    static let response = Hex.bytes("0140c8")
    static let responseNonce = Hex.bytes("c789e7151fcba46158ca84b04464910d")
    static let encapsulatedResponse = Hex.bytes("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")
}

@Suite("The example of RFC 9458, appendix A")
struct RFC9458ExampleTests {
    private let configuration: KeyConfiguration
    private let keyring: GatewayKeyring

    init() throws {
        configuration = try KeyConfiguration(decoding: Example.keyConfiguration)
        keyring = try GatewayKeyring([
            GatewayKey(
                id: configuration.id, kem: .x25519, privateKey: Example.serverSecretKey, suites: configuration.suites)
        ])
    }

    @Test("The key configuration is decoded, and encoded byte for byte")
    func keyConfiguration() throws {
        #expect(configuration.id == 1)
        #expect(configuration.kem == .x25519)
        #expect(configuration.suites == [.aes128GCM, .chaCha20Poly1305])
        #expect(configuration.encoded() == Example.keyConfiguration)
        #expect(keyring.keys.first?.configuration == configuration)
    }

    @Test("The client seals the request byte for byte, and opens the response")
    func client() throws {
        let header = try configuration.header(.aes128GCM)
        #expect([UInt8](header.info(.whole)) == Example.info)
        let sender = try FixedEphemeralKey.sender(
            to: configuration, header, .whole, ephemeral: Example.ephemeralSecretKey)
        let sealed = try EncapsulatedRequest(Example.request, header: header, sender: sender)
        let message = [UInt8](sealed.message)
        #expect(message == Example.encapsulatedRequest)
        let response = try sealed.response.open(Example.encapsulatedResponse)
        #expect([UInt8](response) == Example.response)
    }

    @Test("The gateway opens the request, and seals the response byte for byte")
    func gateway() throws {
        let opened = try keyring.decapsulate(Example.encapsulatedRequest)
        #expect([UInt8](opened.request) == Example.request)
        #expect(opened.encapsulatedKey == Example.encapsulatedKey)
        let response = try opened.response.seal(Example.response, nonce: Example.responseNonce)
        #expect(response == Example.encapsulatedResponse)
    }

    @Test("The messages inside are Binary HTTP, truncated after their control data")
    func content() throws {
        let request = try BinaryHTTPRequest(decoding: Data(Example.request))
        #expect(request.head == .init(method: .get, scheme: "https", authority: "example.com", path: "/"))
        let response = try BinaryHTTPResponse(decoding: Data(Example.response))
        #expect(response.head.status == .ok)
    }
}
