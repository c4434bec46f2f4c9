import Crypto
import Foundation
import Testing

@testable import OHTTP

/// The values of the draft's appendix, version of 2026-02-18.
private enum Example {
    static let serverSecretKey = Hex.bytes("1c190d72acdbe4dbc69e680503bb781a932c70a12c8f3754434c67d8640d8698")
    static let keyConfiguration = Hex.bytes("010020668eb21aace159803974a4c67f08b4152d29bed10735fd08f98ccdd6fe09570800080001000100010003")
    static let ephemeralSecretKey = Hex.bytes("b26d565f3f875ed480d1abced3d665159650c99174fd0b124ac4bda0c64ae324")
    static let encapsulatedKey = Hex.bytes("8811eb457e100811c40a0aa71340a1b81d804bb986f736f2f566a7199761a032")
    static let info = Hex.bytes("6d6573736167652f6268747470206368756e6b656420726571756573740001002000010001")
    static let request = Hex.bytes("00034745540568747470730b6578616d706c652e636f6d012f")
    static let encapsulatedRequest = Hex.bytes(
        """
        010020000100018811eb457e100811c40a0aa71340a1b81d804bb986f736f2f566a7199761a032
        1c2ad24942d4d692563012f2980c8fef437a336b9b2fc938ef77a5834f
        1d2e33d8fd25577afe31bd1c79d094f76b6250ae6549b473ecd950501311
        001c6c1395d0ef7c1022297966307b8a7f
        """)
    static let response = Hex.bytes("0140c8")
    static let responseNonce = Hex.bytes("bcce7f4cb921309ba5d62edf1769ef09")
    static let encapsulatedResponse = Hex.bytes(
        """
        bcce7f4cb921309ba5d62edf1769ef09
        1179bf1cc87fa0e2c02de4546945aa3d1e48
        12b348b5bd4c594c16b6170b07b475845d1f32
        00ed9d8a796617a5b27265f4d73247f639
        """)
}

@Suite("The example of draft-ietf-ohai-chunked-ohttp")
struct ChunkedExampleTests {
    private let configuration: KeyConfiguration
    private let keyring: GatewayKeyring

    init() throws {
        configuration = try KeyConfiguration(decoding: Example.keyConfiguration)
        keyring = try GatewayKeyring([
            GatewayKey(id: 1, kem: .x25519, privateKey: Example.serverSecretKey, suites: configuration.suites)
        ])
    }

    @Test("The client seals the request byte for byte in its three chunks, and opens the response")
    func client() throws {
        let header = try configuration.header(.aes128GCM)
        #expect([UInt8](header.info(.chunked)) == Example.info)
        let ephemeral = Example.ephemeralSecretKey
        let sender = try FixedEphemeralKey.sender(to: configuration, header, .chunked, ephemeral: ephemeral)
        let request = try ChunkedRequest(header: header, sender: sender, maximumChunkSize: Chunk.size)
        var sealer = request.sealer
        var opener = request.response

        let plaintext = Example.request
        var message = try sealer.seal(plaintext.prefix(12))
        message += try sealer.seal(plaintext.dropFirst(12))
        message += try sealer.finish()
        #expect(message == Example.encapsulatedRequest)

        opener.append(Example.encapsulatedResponse)
        var response = [Data]()
        while let part = try opener.next() { response.append(part) }
        #expect(response.map(\.count) == [1, 2])
        response.append(try opener.finish())
        #expect([UInt8](response.joined()) == Example.response)
    }

    @Test("The gateway opens the request, and seals the response byte for byte in its three chunks")
    func gateway() throws {
        var opener = keyring.chunkedRequestOpener()
        opener.append(Example.encapsulatedRequest)
        var request = [Data]()
        while let part = try opener.next() { request.append(part) }
        #expect(request.map(\.count) == [12, 13])
        request.append(try opener.finish())
        #expect([UInt8](request.joined()) == Example.request)
        let encapsulatedKey = opener.encapsulatedKey
        #expect(encapsulatedKey == Example.encapsulatedKey)

        let secret = opener.takeSecret()
        var sealer = ChunkedResponseSealer(secret: try #require(secret), nonce: Example.responseNonce)
        let plaintext = Example.response
        var message = try sealer.seal(plaintext.prefix(1))
        message += try sealer.seal(plaintext.dropFirst(1))
        message += try sealer.finish()
        #expect(message == Example.encapsulatedResponse)
    }
}
