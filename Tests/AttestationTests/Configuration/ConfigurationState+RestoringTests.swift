import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

/// Restoring the state from stored bytes after a restart.
@Suite struct ConfigurationStateRestoringTests {
    private let account: TestAccount

    init() throws { account = try TestAccount() }
    private let later = P256.Signing.PrivateKey()
    private let last = P256.Signing.PrivateKey()

    /// Versions 2 and 4 change keys; 3, 5 and 6 do not.
    private func history() throws -> [SignedConfiguration] {
        [
            try account.signed(version: 2, by: [account.key, later]) { $0.configKeys = [PublicJWK(later.publicKey)] },
            try account.signed(version: 3, by: [later]),
            try account.signed(version: 4, by: [later, last]) { $0.configKeys = [PublicJWK(last.publicKey)] },
            try account.signed(version: 5, by: [last]),
            try account.signed(version: 6, by: [last]) { $0.expiresAt += 1 },
        ]
    }

    @Test("A single version is stored as one JWS; with key changes, an array is stored")
    func serialized() throws {
        let two = try account.signed(version: 2)
        #expect(try account.state().accepting([two], now: TestAccount.now).serializedChain == two.serialized)
        let all = try history()
        let state = try account.state().accepting(all, now: TestAccount.now)
        #expect(state.chain == [all[0], all[2], all[4]])
        #expect(state.serializedChain?.first == UInt8(ascii: "["))
    }

    @Test("After every version, the stored bytes restore the same state")
    func roundTrip() throws {
        let initial = try account.initial()
        var state = try ConfigurationState(initial: initial)
        for version in try history() {
            state = try state.accepting([version], now: TestAccount.now)
            let restored = try ConfigurationState(initial: initial, restoring: try #require(state.serializedChain))
            #expect(restored.accepted == state.accepted)
            #expect(restored.chain == state.chain)
            #expect(restored.configKeys == state.configKeys)
            #expect(restored.highestIssuedAt == state.highestIssuedAt)
        }
    }

    @Test("A stored version may have expired; its pins stay in force")
    func expired() throws {
        let initial = try account.initial()
        let old = try account.signed(version: 2) {
            $0.issuedAt = 1; $0.expiresAt = 2
        }
        let restored = try ConfigurationState(initial: initial, restoring: old.serialized)
        #expect(restored.accepted.version == 2)
        #expect(restored.accepted.hosts["api.test"]?.pins.count == 2)
    }

    @Test("A stored version older than the initial configuration is rejected")
    func olderThanInitial() throws {
        let stored = try account.signed(version: 2).serialized
        let initial = try account.initial(account.configuration(version: 3))
        #expect(code { try ConfigurationState(initial: initial, restoring: stored) } == .rolledBack)
    }

    @Test("A newer initial configuration with the new keys still restores the newest stored version")
    func overtakenKeyChange() throws {
        let state = try account.state().accepting(try Array(history().prefix(2)), now: TestAccount.now)
        let bytes = try #require(state.serializedChain)
        let newer = try InitialConfiguration(
            account: account.name, epoch: 1, authority: try #require(URL(string: "https://authority.example.com")),
            authorityPins: [TestAccount.pinA, TestAccount.pinB], configKeys: [PublicJWK(later.publicKey)],
            configuration: try account.signed(version: 2, by: [later]) { $0.configKeys = [PublicJWK(later.publicKey)] })
        let restored = try ConfigurationState(initial: newer, restoring: bytes)
        #expect(restored.accepted.version == 3)
        #expect(restored.chain.count == 1)
    }

    @Test("A newer initial configuration after two key changes verifies and restores the newest stored version")
    func overtakenKeyChanges() throws {
        let all = try history()
        let newer = try InitialConfiguration(
            account: account.name, epoch: 1, authority: try #require(URL(string: "https://authority.example.com")),
            authorityPins: [TestAccount.pinA, TestAccount.pinB], configKeys: [PublicJWK(last.publicKey)],
            configuration: try account.signed(version: 5, by: [last]))
        let bytes = try #require(try account.state().accepting(all, now: TestAccount.now).serializedChain)
        let restored = try ConfigurationState(initial: newer, restoring: bytes)
        #expect(restored.accepted.version == 6)
        #expect(restored.chain == [all[4]])
        let forged = try account.signed(version: 6, by: [later])
        let wrong = JSONValue.array([all[0], all[2], forged].map(\.json)).serialized()
        #expect(code { try ConfigurationState(initial: newer, restoring: wrong) } == .unknownSigner)
    }

    @Test("Key names distinguish another app's stored version from damage; a later version overtakes it")
    func anotherApp() throws {
        let initial = try account.initial()
        let all = try history()
        #expect(ConfigurationState.origin(ofStored: all[4].serialized, initial: initial) == .saidToBeAnotherApp)
        let higher = try account.signed(version: 2) { $0.epoch = 2 }.serialized
        #expect(ConfigurationState.origin(ofStored: higher, initial: initial) == .anotherApp)
        let lower = try account.signed(version: 2).serialized
        #expect(ConfigurationState.origin(ofStored: lower, initial: try account.initial(account.configuration(epoch: 2))) == .unknown)
        #expect(ConfigurationState.origin(ofStored: lower, initial: initial) == .unknown)
        #expect(ConfigurationState.origin(ofStored: Array("damaged".utf8), initial: initial) == .unknown)
        let state = try account.state().accepting(Array(all.prefix(4)), now: TestAccount.now)
        #expect(!state.hasOvertaken(stored: all[4].serialized))
        #expect(try !account.state().hasOvertaken(stored: all[3].serialized))
        #expect(try state.accepting([all[4]], now: TestAccount.now).hasOvertaken(stored: all[3].serialized))
    }

    @Test("A higher epoch invalidates the stored version and restarts the version numbers")
    func higherEpoch() throws {
        let stored = try account.state().accepting([try account.signed(version: (1 << 53) - 1)], now: TestAccount.now)
        #expect(code { try stored.accepting([try account.signed(version: 2)], now: TestAccount.now) } == .rolledBack)
        let initial = try account.initial(account.configuration(epoch: 2))
        #expect(code { try ConfigurationState(initial: initial, restoring: try #require(stored.serializedChain)) } == .wrongEpoch)
        let restarted = try ConfigurationState(initial: initial)
        #expect(try restarted.accepting([try account.signed(version: 2) { $0.epoch = 2 }], now: TestAccount.now).accepted.version == 2)
    }

    @Test("Stored bytes with a bit flipped in any byte are rejected", arguments: [false, true])
    func flipped(chain: Bool) throws {
        let initial = try account.initial()
        let candidates = chain ? try history() : [try account.signed(version: 2)]
        let bytes = try #require(try ConfigurationState(initial: initial).accepting(candidates, now: TestAccount.now).serializedChain)
        _ = try ConfigurationState(initial: initial, restoring: bytes)
        for offset in bytes.indices {
            let bits = [0, 1, 5, 7]
            for bit in chain ? [bits[offset % 4]] : bits {
                var changed = bytes
                changed[offset] ^= 1 << UInt8(bit)
                #expect(throws: AttestationError.self, "offset \(offset), bit \(bit)") {
                    try ConfigurationState(initial: initial, restoring: changed)
                }
            }
        }
    }

    @Test("Stored bytes truncated at any length are rejected", arguments: [false, true])
    func truncated(chain: Bool) throws {
        let initial = try account.initial()
        let candidates = chain ? try history() : [try account.signed(version: 2)]
        let bytes = try #require(try ConfigurationState(initial: initial).accepting(candidates, now: TestAccount.now).serializedChain)
        for length in 0..<bytes.count {
            #expect(throws: AttestationError.self, "length \(length)") {
                try ConfigurationState(initial: initial, restoring: Array(bytes[..<length]))
            }
        }
    }

    @Test("Stored bytes with additional data, or with missing or reordered versions, are rejected")
    func rearranged() throws {
        let initial = try account.initial()
        let all = try history()
        let bytes = try #require(try ConfigurationState(initial: initial).accepting(all, now: TestAccount.now).serializedChain)
        func array(_ parts: [SignedConfiguration]) -> [UInt8] { JSONValue.array(parts.map(\.json)).serialized() }
        let one = try account.signed(version: 2)
        for changed in [
            bytes + [0x0a], bytes + [0x20], bytes + [0], [0x20] + bytes, array([all[0], all[4]]), array([all[4], all[2], all[0]]),
            array([]),
            array([one]), array([all[0], all[0]]), Array("null".utf8), Array("{}".utf8),
        ] {
            #expect(throws: AttestationError.self) { try ConfigurationState(initial: initial, restoring: changed) }
        }
    }

    @Test("The caller's requirement also applies to stored bytes")
    func requirement() throws {
        struct NotCompiled: Error {}
        let bytes = try account.signed(version: 2).serialized
        let initial = try account.initial()
        #expect(
            code { try ConfigurationState(initial: initial, restoring: bytes, alsoRequiring: { _ in throw NotCompiled() }) }
                == .malformedConfiguration)
    }

    @Test("More key changes than a file may hold are rejected, and the state stays usable")
    func tooManyChanges() throws {
        var state = try account.state()
        var current = account.key
        for version in 2...Int64(ConfigurationState.maximumChainLength + 1) {
            let next = P256.Signing.PrivateKey()
            let change = try account.signed(version: version, by: [current, next]) { $0.configKeys = [PublicJWK(next.publicKey)] }
            state = try state.accepting([change], now: TestAccount.now)
            current = next
        }
        #expect(state.chain.count == ConfigurationState.maximumChainLength)
        let next = try account.signed(version: 1_000, by: [current])
        #expect(code { try state.accepting([next], now: TestAccount.now) } == .tooLarge)
        #expect(
            try ConfigurationState(initial: account.initial(), restoring: try #require(state.serializedChain)).accepted == state.accepted)
    }
}
