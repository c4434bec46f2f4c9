import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

@testable import Approov

@Suite struct ApproovServiceSigningTests {
    private let world: World
    private let key: MessageSigningKey

    init() throws {
        world = try World(hosts: ["api.test": .pinned, "oblivious.test": HostSettings.pinned.with { $0.oblivious = true }])
        key = try MessageSigningKey(id: "k1", key: [UInt8](repeating: 7, count: 32))
    }

    private func fetch(_ host: String = "api.test") async throws -> TokenFetchResult {
        await world.service.fetchToken(for: try #require(URL(string: "https://\(host)/")))
    }

    @Test("A message is signed with the installation key, as r and s")
    func installation() async throws {
        let message = Array("a message".utf8)
        let bytes = try await world.service.sign(message, with: .installation)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: bytes)
        #expect(world.attester.key.publicKey.isValidSignature(signature, for: message))
    }

    @Test("A message is signed with the account key, once a token has brought it, also for one use")
    func account() async throws {
        let message = Array("account-message".utf8)
        let early = await #expect(throws: ApproovError.self) { try await world.service.sign(message, with: .account) }
        #expect(early?.code == .signingFailed && early?.message.contains("fetch a token first") == true)
        let key = key
        world.authority.script.change { $0.messageSigningKey = key }
        _ = await world.service.fetchLimitedUseToken(for: try #require(URL(string: "https://api.test/")))
        let code = try await world.service.sign(message, with: .account)
        #expect(HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: message, using: SymmetricKey(data: key.key)))
    }

    @Test("The account key is the one that the authority sent last, and an oblivious host's token leaves it as it is")
    func newest() async throws {
        let key = key
        world.authority.script.change { $0.messageSigningKey = key }
        _ = try await fetch()
        world.authority.script.change { $0.messageSigningKey = nil }
        _ = try await fetch("oblivious.test")
        #expect(world.service.accountKey.value == key)
        world.service.forgetTokens()
        _ = try await fetch()
        #expect(world.service.accountKey.value == nil)
    }

    @Test("A host that just became oblivious leaves the account key as it is, for a token of the cache and for one past it")
    func becomesOblivious() async throws {
        for isCached in [true, false] {
            let world = try World()
            let url = try #require(URL(string: "https://api.test/"))
            let key = key
            world.authority.script.change { $0.messageSigningKey = key }
            _ = await world.service.fetchToken(for: url)
            world.service.forgetTokens()
            let oblivious = try world.account.signed(
                world.account.configuration(
                    version: 2, hosts: ["api.test": .pinned.with { $0.oblivious = true }], oblivious: world.gateway.settings))
            world.authority.script.change {
                $0.messageSigningKey = nil
                $0.configurations = [oblivious]
            }
            let result = isCached ? await world.service.fetchToken(for: url) : await world.service.fetchLimitedUseToken(for: url)
            #expect(result.isConfigChanged && world.service.configuration.hosts["api.test"]?.oblivious == true)
            #expect(world.service.accountKey.value == key)
        }
    }

    @Test("An app that has not attested is told to fetch a token, and one whose account has no key to make one")
    func missingKey() async throws {
        func refusal() async throws -> String {
            let error = await #expect(throws: ApproovError.self) { try await world.service.sign([1], with: .account) }
            return try #require(error).message
        }
        #expect(try await refusal().contains("fetch a token first"))
        _ = try await fetch("oblivious.test")
        #expect(try await !refusal().contains("secret -messageSigningKey"))
        _ = try await fetch()
        #expect(try await refusal().contains("secret -messageSigningKey change --yes"))
    }

    @Test("The installation key signs nothing that could be evidence, and the account key does")
    func evidence() async throws {
        let jws = try await world.attester.evidence(
            for: EvidenceRequest(
                challenge: "c", audience: "https://a.test", account: "a", host: "api.test", sdkVersion: "1", configVersion: 1))
        let input = Array(jws.utf8[..<(try #require(jws.utf8.lastIndex(of: UInt8(ascii: "."))))])
        let error = await #expect(throws: ApproovError.self) { try await world.service.sign(input, with: .installation) }
        #expect(error?.code == .signingFailed && error?.message.contains("SHA-256") == true)
        let key = key
        world.authority.script.change { $0.messageSigningKey = key }
        _ = try await fetch()
        _ = try await world.service.sign(input, with: .account)
    }

    @Test("The account key is in no description of a result, and not in the last result")
    func descriptions() async throws {
        let key = key
        world.authority.script.change { $0.messageSigningKey = key }
        let result = try await fetch()
        #expect(result.accountKey == key)
        var dumped = ""
        dump(result, to: &dumped)
        for text in ["\(result)", String(reflecting: result), dumped, result.loggableToken] {
            #expect(!text.contains(key.base64url) && !text.contains("7, 7") && !text.contains("k1"))
        }
        #expect(world.service.lastResult?.accountKey == nil)
    }
}
