import Crypto
import Foundation
import HTTPTypes
import Testing

@testable import OHTTP

@Suite("The example of RFC 9458, appendix A", .enabled(if: Vectors.areThere, Vectors.whereTheyAre))
struct RFC9458ExampleTests {
    private let bytes: [String: [UInt8]]
    private let configuration: KeyConfiguration
    private let keyring: GatewayKeyring

    init() throws {
        bytes = try Vectors.bytes("rfc9458-appendix-a.json")
        configuration = try KeyConfiguration(decoding: try #require(bytes["key_config"]))
        keyring = try GatewayKeyring([
            GatewayKey(
                id: configuration.id, kem: .x25519, privateKey: try #require(bytes["server_secret_key"]), suites: configuration.suites)
        ])
    }

    @Test("the key configuration is read, and written byte for byte")
    func keyConfiguration() throws {
        #expect(configuration.id == 1)
        #expect(configuration.kem == .x25519)
        #expect(configuration.suites == [.aes128GCM, .chaCha20Poly1305])
        #expect(configuration.encoded() == bytes["key_config"])
        #expect(keyring.keys.first?.configuration == configuration)
    }

    @Test("the request is sealed byte for byte, and its response opened")
    func client() throws {
        let header = try configuration.header(.aes128GCM)
        #expect([UInt8](header.info(.whole)) == bytes["hpke_info"])
        let sender = try FixedEphemeralKey.sender(
            to: configuration, header, .whole, ephemeral: try #require(bytes["client_ephemeral_secret_key"]))
        let sealed = try EncapsulatedRequest(try #require(bytes["request_bhttp"]), header: header, sender: sender)
        let message = [UInt8](sealed.message)
        #expect(message == bytes["encapsulated_request"])
        let response = try sealed.response.open(try #require(bytes["encapsulated_response"]))
        #expect([UInt8](response) == bytes["response_bhttp"])
    }

    @Test("the request is opened, and its response sealed byte for byte")
    func gateway() throws {
        let opened = try keyring.decapsulate(try #require(bytes["encapsulated_request"]))
        #expect([UInt8](opened.request) == bytes["request_bhttp"])
        #expect(opened.encapsulatedKey == bytes["client_ephemeral_public_key_enc"])
        let response = try opened.response.seal(try #require(bytes["response_bhttp"]), nonce: try #require(bytes["response_nonce"]))
        #expect(response == bytes["encapsulated_response"])
    }

    @Test("the messages inside are Binary HTTP, truncated behind their control data")
    func content() throws {
        let request = try BinaryHTTPRequest(decoding: Data(try #require(bytes["request_bhttp"])))
        #expect(request.head == .init(method: .get, scheme: "https", authority: "example.com", path: "/"))
        let response = try BinaryHTTPResponse(decoding: Data(try #require(bytes["response_bhttp"])))
        #expect(response.head.status == .ok)
    }
}
