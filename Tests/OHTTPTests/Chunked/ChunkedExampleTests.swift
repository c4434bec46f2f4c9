import Crypto
import Foundation
import Testing

@testable import OHTTP

@Suite("The example of draft-ietf-ohai-chunked-ohttp", .enabled(if: Vectors.areThere, Vectors.whereTheyAre))
struct ChunkedExampleTests {
    private let bytes: [String: [UInt8]]
    private let configuration: KeyConfiguration
    private let keyring: GatewayKeyring

    init() throws {
        bytes = try Vectors.bytes("chunked-ohttp-example.json")
        configuration = try KeyConfiguration(decoding: try #require(bytes["key_config"]))
        let secret = try #require(bytes["server_secret_key"])
        keyring = try GatewayKeyring([GatewayKey(id: 1, kem: .x25519, privateKey: secret, suites: configuration.suites)])
    }

    private func member(_ name: String) throws -> [UInt8] { try #require(bytes[name]) }

    @Test("the request is sealed byte for byte in its three chunks, and the response opened")
    func client() throws {
        let header = try configuration.header(.aes128GCM)
        #expect([UInt8](header.info(.chunked)) == bytes["hpke_info"])
        let ephemeral = try member("client_ephemeral_secret_key")
        let sender = try FixedEphemeralKey.sender(to: configuration, header, .chunked, ephemeral: ephemeral)
        let request = try ChunkedRequest(header: header, sender: sender, maximumChunkSize: Chunk.size)
        var sealer = request.sealer
        var opener = request.response

        let plaintext = try member("request_bhttp")
        var message = try sealer.seal(plaintext.prefix(12))
        message += try sealer.seal(plaintext.dropFirst(12))
        message += try sealer.finish()
        #expect(message == bytes["encapsulated_request"])

        opener.append(try member("encapsulated_response"))
        var response = [Data]()
        while let part = try opener.next() { response.append(part) }
        #expect(response.map(\.count) == [1, 2])
        response.append(try opener.finish())
        #expect([UInt8](response.joined()) == bytes["response_bhttp"])
    }

    @Test("the request is opened, and the response sealed byte for byte in its three chunks")
    func gateway() throws {
        var opener = keyring.chunkedRequestOpener()
        opener.append(try member("encapsulated_request"))
        var request = [Data]()
        while let part = try opener.next() { request.append(part) }
        #expect(request.map(\.count) == [12, 13])
        request.append(try opener.finish())
        #expect([UInt8](request.joined()) == bytes["request_bhttp"])
        let encapsulatedKey = opener.encapsulatedKey
        #expect(encapsulatedKey == bytes["client_ephemeral_public_key_enc"])

        let secret = opener.takeSecret()
        var sealer = ChunkedResponseSealer(secret: try #require(secret), nonce: try member("response_nonce"))
        let plaintext = try member("response_bhttp")
        var message = try sealer.seal(plaintext.prefix(1))
        message += try sealer.seal(plaintext.dropFirst(1))
        message += try sealer.finish()
        #expect(message == bytes["encapsulated_response"])
    }
}
