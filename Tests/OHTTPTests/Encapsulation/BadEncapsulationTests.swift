import ApproovTesting
import Foundation
import Testing

@testable import OHTTP

@Suite("Malformed encapsulated messages")
struct BadEncapsulationTests {
    private static let failed = OHTTPError(.decapsulationFailed, "")
    private static let rejected = OHTTPError(.responseRejected, "")
    private let keyring: GatewayKeyring
    private let configuration: KeyConfiguration

    init() throws {
        let key = try GatewayKey(id: 1, suites: [.aes128GCM])
        keyring = try GatewayKeyring([GatewayKey(id: 2, kem: .p256), key, GatewayKey(id: 3)])
        configuration = key.configuration
    }

    private func seal(_ text: String = "question") throws -> [UInt8] {
        let sealed = try configuration.encapsulate([UInt8](text.utf8))
        return [UInt8](sealed.message)
    }

    private func open(_ message: [UInt8]) throws {
        _ = try keyring.decapsulate(message)
    }

    /// Expects the same description for every failure, so that an answer made from it does not reveal the cause.
    private func expectUniform(_ message: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
        do {
            try open(message)
            Issue.record("the message was opened", sourceLocation: sourceLocation)
        } catch {
            #expect("\(error)" == "\(OHTTPError.decapsulationFailed)", sourceLocation: sourceLocation)
        }
    }

    @Test("The keyring makes a recipient for an unknown key or suite as well, marked as not accepted")
    func sameWork() throws {
        let known = configuration.id
        let cases: [(keyID: UInt8, aead: SymmetricSuite.AEAD, isAccepted: Bool)] = [
            (known, .aes128GCM, true), (known, .chaCha20Poly1305, false), (9, .aes128GCM, false),
        ]
        for (keyID, aead, isAccepted) in cases {
            let header = MessageHeader(keyID: keyID, kem: .x25519, suite: SymmetricSuite(kdf: .hkdfSHA256, aead: aead))
            let recipient = try keyring.recipient(header, Data([UInt8](repeating: 9, count: 32)), .whole)
            #expect(recipient.isAccepted == isAccepted)
        }
    }

    @Test("A request cut off at any byte is refused")
    func truncated() throws {
        let message = try seal()
        try open(message)
        for count in message.indices { expectUniform([UInt8](message.prefix(count))) }
    }

    @Test("A request with any bit flipped is refused")
    func flipped() throws {
        let message = try seal()
        for index in message.indices {
            for bit in 0..<8 {
                var bad = message
                bad[index] ^= 1 << UInt8(bit)
                expectUniform(bad)
            }
        }
    }

    @Test("A request with an extra byte at its end is refused")
    func longer() throws {
        expectUniform(try seal() + [0])
    }

    @Test("A request whose header names another KEM, KDF or AEAD is refused")
    func algorithms() throws {
        let message = try seal()
        for (position, values) in [(1, [0x0010, 0x0011, 0x0030, 0x647a, 0xffff]), (3, [0, 2, 3, 4, 0xffff]), (5, [0, 2, 3, 4, 0xffff])] {
            for value in values {
                var bad = message
                bad[position] = UInt8(value >> 8)
                bad[position + 1] = UInt8(value & 0xff)
                expectUniform(bad)
            }
        }
    }

    @Test("A request that names an unknown key, or another key of the keyring, is refused", arguments: [0, 2, 3, 255] as [UInt8])
    func keys(id: UInt8) throws {
        var message = try seal()
        message[0] = id
        expectUniform(message)
    }

    @Test("The client does not seal with a suite outside the configuration, and the gateway refuses it")
    func suite() throws {
        #expect(
            code(as: OHTTPError.self) {
                _ = try configuration.encapsulate([1], suite: .chaCha20Poly1305)
            } == .unsupportedKeyConfiguration)
        let generous = try KeyConfiguration(id: 1, kem: .x25519, publicKey: configuration.publicKey, suites: [.chaCha20Poly1305])
        let sealed = try generous.encapsulate([1])
        expectUniform([UInt8](sealed.message))
    }

    @Test("A keyring without keys opens no request")
    func emptyKeyring() throws {
        let message = try seal()
        #expect(throws: Self.failed) { _ = try GatewayKeyring([]).decapsulate(message) }
    }

    @Test("A chunked request is not opened as a whole one, nor a whole one as chunked")
    func variants() throws {
        let chunked = try configuration.chunkedRequest()
        var sealer = chunked.sealer
        expectUniform(try sealer.seal([1, 2, 3]))
        var opener = keyring.chunkedRequestOpener()
        opener.append(try seal())
        do {
            while try opener.next() != nil {}
            _ = try opener.finish()
            Issue.record("the message was opened")
        } catch {
            // The first bytes of ciphertext are read as a chunk's length, which may be too large.
            #expect(error == Self.failed || error.code == .limitExceeded)
        }
    }

    @Test("A response cut off at any byte, or with any byte changed, is refused")
    func badResponses() throws {
        for index in 0..<(16 + 6 + 16) {
            for isCut in [true, false] {
                let sealed = try configuration.encapsulate([1])
                let opened = try keyring.decapsulate(sealed.message)
                var response = try opened.response.seal([UInt8]("answer".utf8))
                #expect(response.count == 38)
                if isCut { response.removeLast(response.count - index) } else { response[index] ^= 0x10 }
                let bad = response
                let result = Self.open(sealed.response, bad)
                #expect(result == .failure(Self.rejected))
            }
        }
    }

    private static func open(_ opener: consuming ResponseOpener, _ response: [UInt8]) -> Result<Data, OHTTPError> {
        do { return .success(try opener.open(response)) } catch { return .failure(error) }
    }

    @Test("A response to another request is refused")
    func foreignResponse() throws {
        let first = try configuration.encapsulate([1])
        let second = try configuration.encapsulate([1])
        let opened = try keyring.decapsulate(first.message)
        let answer = try opened.response.seal([2])
        let result = Self.open(second.response, answer)
        #expect(result == .failure(Self.rejected))
    }

    @Test("Every response has a different nonce")
    func nonces() throws {
        let message = try seal()
        var nonces = Set<[UInt8]>()
        for _ in 0..<50 {
            let opened = try keyring.decapsulate(message)
            nonces.insert([UInt8](try opened.response.seal([1]).prefix(16)))
        }
        #expect(nonces.count == 50)
    }

    @Test("Two requests with the same content share only their header and length")
    func freshContexts() throws {
        let first = try seal()
        let second = try seal()
        #expect(first.prefix(7) == second.prefix(7) && first.count == second.count)
        #expect(first[7..<39] != second[7..<39])
        #expect(first[39...] != second[39...])
    }

    @Test("A keyring refuses two keys with the same identifier")
    func duplicateKeys() throws {
        let keys = [try GatewayKey(id: 1), try GatewayKey(id: 1, kem: .p256)]
        #expect(code(as: OHTTPError.self) { try GatewayKeyring(keys) } == .duplicateKey)
    }

    @Test("The error for a forged response contains no text of the messages")
    func silence() throws {
        let error = #expect(throws: (any Error).self) {
            let sealed = try configuration.encapsulate([UInt8]("a very secret question".utf8))
            return try sealed.response.open([UInt8]("a very secret answer, made up by an attacker".utf8))
        }
        #expect(error.map { "\($0)".contains("secret") } == false)
    }
}
