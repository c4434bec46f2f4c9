import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

/// The rules by which one version follows another.
@Suite struct ConfigurationStateTests {
    private let account: TestAccount

    init() throws { account = try TestAccount() }
    private let later = P256.Signing.PrivateKey()

    private func keys(_ keys: P256.Signing.PrivateKey...) -> [PublicJWK] {
        keys.map { PublicJWK($0.publicKey) }
    }

    @Test("A newer version is accepted, and the old state stays unchanged")
    func newer() throws {
        let state = try account.state()
        let next = try state.accepting([try account.signed(version: 5)], now: TestAccount.now)
        #expect(next.accepted.version == 5)
        #expect(next.chain.count == 1)
        #expect(state.accepted.version == 1)
        #expect(state.serializedChain == nil)
    }

    @Test("An older version is rejected even with a valid signature")
    func rollback() throws {
        let state = try account.state().accepting([try account.signed(version: 7)], now: TestAccount.now)
        let error = try #require(throws: AttestationError.self) {
            try state.accepting([try account.signed(version: 6)], now: TestAccount.now)
        }
        #expect(error.code == .rolledBack)
        #expect(error.message.contains("6"))
        #expect(state.accepted.version == 7)
    }

    @Test("The version in force changes nothing with the same payload, and is rejected with another payload")
    func equalVersion() throws {
        let seven = try account.signed(version: 7)
        let state = try account.state().accepting([seven], now: TestAccount.now)
        #expect(try state.accepting([seven], now: TestAccount.now).acceptedSigned == seven)
        // Signed again: another signature over the same payload.
        #expect(try state.accepting([try account.signed(version: 7)], now: TestAccount.now).acceptedSigned == seven)
        let other = try account.signed(version: 7) { $0.expiresAt += 1 }
        #expect(code { try state.accepting([other], now: TestAccount.now) } == .conflictingVersion)
    }

    @Test("The payload in force is rejected when another key signs it")
    func equalVersionBadSignature() throws {
        let seven = try account.signed(version: 7)
        let state = try account.state().accepting([seven], now: TestAccount.now)
        let forged = try SignedConfiguration(json: try account.signedAnyway(seven.payloadBytes, by: later))
        #expect(code { try state.accepting([forged], now: TestAccount.now) } == .unknownSigner)
    }

    @Test("A version signed by an unknown key, or with the payload of another version, is rejected")
    func signatures() throws {
        let state = try account.state()
        #expect(code { try state.accepting([try account.signed(version: 2, by: [later])], now: TestAccount.now) } == .unknownSigner)
        let good = try account.signed(version: 2).json
        let other = try account.signed(version: 3).json
        let spliced = try SignedConfiguration(json: try good.setting("payload", to: try other.member("payload")))
        #expect(code { try state.accepting([spliced], now: TestAccount.now) } == .unknownSigner)
    }

    @Test("A payload is parsed only if its signature is valid")
    func signatureFirst() throws {
        let state = try account.state()
        let garbage = Array("not JSON".utf8)
        let strange = try SignedConfiguration(json: try account.signedAnyway(garbage, by: later))
        #expect(code { try state.accepting([strange], now: TestAccount.now) } == .unknownSigner)
        let signed = try SignedConfiguration(json: try account.signedAnyway(garbage))
        #expect(code { try state.accepting([signed], now: TestAccount.now) } == .malformedJSON)
    }

    @Test("A signed payload that is not a single object, or that repeats a member, is rejected")
    func signedNonsense() throws {
        let state = try account.state()
        let good = String(decoding: account.configuration(version: 2).json.serialized(), as: UTF8.self)
        for text in [good + " x", good + good, good.replacing(#""version":2"#, with: #""version":2,"version":3"#), "[]", good + "\u{0}"] {
            let signed = try SignedConfiguration(json: try account.signedAnyway(Array(text.utf8)))
            let error = try #require(throws: AttestationError.self) { try state.accepting([signed], now: TestAccount.now) }
            #expect([.malformedJSON, .malformedMember].contains(error.code), "\(error)")
        }
        // White space is allowed: the signature covers it.
        _ = try state.accepting(
            [try SignedConfiguration(json: try account.signedAnyway(Array((" " + good + "\n").utf8)))], now: TestAccount.now)
    }

    @Test("A configuration signed with the type of evidence is rejected")
    func otherType() throws {
        let payload = account.configuration(version: 2).json.serialized()
        #expect(code { try SignedConfiguration(json: try account.signedAnyway(payload, typ: Evidence.type)) } == .malformedSignature)
    }

    @Test("A version of another account or epoch is rejected")
    func foreign() throws {
        let state = try account.state()
        let foreign = try account.signed(version: 2) { $0.account = "other" }
        #expect(code { try state.accepting([foreign], now: TestAccount.now) } == .wrongAccount)
        let epoch = try account.signed(version: 2) { $0.epoch = 2 }
        #expect(code { try state.accepting([epoch], now: TestAccount.now) } == .wrongEpoch)
    }

    @Test("A version is rejected from the second in which it expires")
    func expired() throws {
        let state = try account.state()
        let signed = try account.signed(version: 2)
        let end = TimeInterval(TestAccount.issuedAt + TestAccount.lifetime)
        _ = try state.accepting([signed], now: Date(timeIntervalSince1970: end - 1))
        for now in [end, end + 1, end * 2] {
            #expect(code { try state.accepting([signed], now: Date(timeIntervalSince1970: now)) } == .expired)
        }
        _ = try state.accepting([signed], now: Date(timeIntervalSince1970: end), allowExpired: true)
    }

    @Test("A clock that was set back does not make an expired version valid again")
    func clockBack() throws {
        let far = TestAccount.issuedAt + 10 * TestAccount.lifetime
        let state = try account.state().accepting(
            [
                try account.signed(version: 2) {
                    $0.issuedAt = far; $0.expiresAt = far + 10
                }
            ], now: TestAccount.now)
        #expect(state.highestIssuedAt == far)
        #expect(code { try state.accepting([try account.signed(version: 3)], now: TestAccount.now) } == .expired)
        #expect(code { try state.accepting([try account.signed(version: 3)], now: .distantPast) } == .expired)
    }

    @Test("The issue time of one candidate does not expire the next candidate of the list")
    func fixedTime() throws {
        let first = try account.signed(version: 2) {
            $0.issuedAt += TestAccount.lifetime; $0.expiresAt += 2 * TestAccount.lifetime
        }
        let second = try account.signed(version: 3)
        #expect(try account.state().accepting([first, second], now: TestAccount.now).accepted.version == 3)
    }

    @Test("A list of versions is accepted as a whole or not at all")
    func wholeList() throws {
        let state = try account.state()
        let two = try account.signed(version: 2)
        let three = try account.signed(version: 3)
        #expect(try state.accepting([two, three], now: TestAccount.now).accepted.version == 3)
        let error = try #require(throws: AttestationError.self) { try state.accepting([three, two], now: TestAccount.now) }
        #expect(error.code == .rolledBack)
        #expect(error.member == "configurations[1]")
        #expect(state.accepted.version == 1)
        #expect(try state.accepting([], now: TestAccount.now).accepted.version == 1)
    }

    @Test("An error of the caller's requirement rejects the version and becomes the cause")
    func requirement() throws {
        struct NotCompiled: Error {}
        let state = try account.state()
        let error = try #require(throws: AttestationError.self) {
            try state.accepting([try account.signed(version: 2)], now: TestAccount.now) { configuration in
                #expect(configuration.version == 2)
                throw NotCompiled()
            }
        }
        #expect(error.code == .malformedConfiguration)
        #expect(error.cause is NotCompiled)
    }

    @Test("A key change must be signed by a current key and by a new key")
    func keyChange() throws {
        let state = try account.state()
        let third = P256.Signing.PrivateKey()
        func change(_ to: [P256.Signing.PrivateKey], by signers: [P256.Signing.PrivateKey]) throws -> SignedConfiguration {
            try account.signed(version: 2, by: signers) { $0.configKeys = to.map { PublicJWK($0.publicKey) } }
        }
        #expect(try state.accepting([try change([later], by: [account.key, later])], now: TestAccount.now).configKeys == keys(later))
        #expect(try state.accepting([try change([later], by: [later, account.key])], now: TestAccount.now).configKeys == keys(later))
        let both = try state.accepting([try change([account.key, later], by: [account.key, later])], now: TestAccount.now)
        #expect(both.configKeys.count == 2)
        #expect(code { try state.accepting([try change([later], by: [account.key])], now: TestAccount.now) } == .missingKeyChangeSignature)
        #expect(
            code { try state.accepting([try change([account.key, later], by: [account.key])], now: TestAccount.now) }
                == .missingKeyChangeSignature)
        #expect(code { try state.accepting([try change([later], by: [later])], now: TestAccount.now) } == .unknownSigner)
        #expect(code { try state.accepting([try change([later], by: [later, third])], now: TestAccount.now) } == .unknownSigner)
        #expect(code { try state.accepting([try change([later], by: [account.key, third])], now: TestAccount.now) } == .unknownSigner)
    }

    @Test("A version that carries the same signature twice is rejected")
    func countedOnce() throws {
        let signed = try account.signed(version: 2) { $0.configKeys = keys(account.key, later) }
        let once = try signed.json.member("signatures").array()[0]
        let twice = try SignedConfiguration(json: try signed.json.setting("signatures", to: .array([once, once])))
        #expect(code { try account.state().accepting([twice], now: TestAccount.now) } == .malformedSignature)
    }

    @Test("A second signature by an unknown key is rejected even when one signature is enough")
    func strangerBeside() throws {
        let signed = try account.signed(version: 2, by: [account.key, later])
        #expect(code { try account.state().accepting([signed], now: TestAccount.now) } == .unknownSigner)
    }

    @Test("After a key change, versions signed by the old key are rejected")
    func oldKey() throws {
        let change = try account.signed(version: 2, by: [account.key, later]) { $0.configKeys = keys(later) }
        let state = try account.state().accepting([change], now: TestAccount.now)
        #expect(code { try state.accepting([try account.signed(version: 3)], now: TestAccount.now) } == .unknownSigner)
        #expect(try state.accepting([try account.signed(version: 3, by: [later])], now: TestAccount.now).accepted.version == 3)
        // Only the change itself, which is in force, is accepted again with the old key's signature.
        #expect(try state.accepting([change], now: TestAccount.now).accepted.version == 2)
    }

    @Test("A state follows another one if that one's keys signed it, and not only those of the initial configuration")
    func follows() throws {
        let state = try account.state()
        let change = try account.signed(version: 2, by: [account.key, later]) { $0.configKeys = keys(later) }
        let changed = try state.accepting([change], now: TestAccount.now)
        let further = try state.accepting([change, try account.signed(version: 3, by: [later])], now: TestAccount.now)
        #expect(state.isFollowed(by: changed) && state.isFollowed(by: further) && changed.isFollowed(by: further))
        // From the initial configuration alone, this one verifies as well.
        let retired = try state.accepting([try account.signed(version: 9)], now: TestAccount.now)
        #expect(state.isFollowed(by: retired) && !changed.isFollowed(by: retired) && !further.isFollowed(by: retired))
        #expect(changed.hasLaterKeys(than: retired) && further.hasLaterKeys(than: retired) && further.hasLaterKeys(than: state))
        #expect(!retired.hasLaterKeys(than: further) && !further.hasLaterKeys(than: changed) && !changed.hasLaterKeys(than: further))
    }

    @Test("The error about an unknown signer names the epoch that the configuration claims, if it is another one")
    func otherEpoch() throws {
        let other = try TestAccount()
        let state = try account.state()
        for (epoch, text) in [(Int64(1), "no known key signed"), (7, "the later epoch 7")] {
            let signed = try other.signed(other.configuration(version: 9, epoch: epoch))
            let error = #expect(throws: AttestationError.self) { try state.accepting([signed], now: TestAccount.now) }
            #expect(error?.code == .unknownSigner && error?.message.contains(text) == true, "\(error?.message ?? "")")
        }
    }

    @Test("An expired key change is accepted when a valid newer version follows it")
    func expiredChange() throws {
        let change = try account.signed(version: 2, by: [account.key, later]) { $0.configKeys = keys(later) }
        let far = TestAccount.issuedAt + 5 * TestAccount.lifetime
        let newest = try account.signed(version: 3, by: [later]) {
            $0.issuedAt = far; $0.expiresAt = far + TestAccount.lifetime
        }
        let now = Date(timeIntervalSince1970: TimeInterval(far + 1))
        #expect(try account.state().accepting([change, newest], now: now).accepted.version == 3)
        #expect(code { try account.state().accepting([change], now: now) } == .expired)
    }
}
