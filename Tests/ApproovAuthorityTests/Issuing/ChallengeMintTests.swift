import ApproovBase
import Attestation
import Crypto
import Testing

@testable import ApproovAuthority

@Suite struct ChallengeMintTests {
    private let mint = ChallengeMint(key: SymmetricKey(size: .bits256), account: "one")
    private let one = [UInt8](repeating: 1, count: 32)
    private let other = [UInt8](repeating: 2, count: 32)

    @Test("A challenge contains its expiry, and two challenges differ")
    func genuine() throws {
        let first = mint.make(now: 1_000, lifetime: 60)
        #expect(first.expiresIn == 60)
        let opened = try #require(mint.open(first.value, from: one))
        #expect(opened.expiresAt == 1_060)
        #expect(opened.nonce.count == 16)
        #expect(mint.open(mint.make(now: 1_000, lifetime: 60).value, from: one)?.nonce != opened.nonce)
    }

    @Test("A challenge with any byte changed is not valid")
    func changed() throws {
        let bytes = try #require(Base64URL.decode(mint.make(now: 1_000, lifetime: 60).value))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(mint.open(Base64URL.encode(changed), from: one) == nil)
        }
    }

    @Test("A challenge under another key or for another account is not valid")
    func foreign() {
        let value = mint.make(now: 1_000, lifetime: 60).value
        #expect(ChallengeMint(key: SymmetricKey(size: .bits256), account: "one").open(value, from: one) == nil)
        #expect(ChallengeMint(key: mint.key, account: "two").open(value, from: one) == nil)
    }

    @Test("Extreme expiry times do not crash, and a negative one reads as zero")
    func overflow() {
        #expect(mint.open(mint.make(now: .max - 60, lifetime: 60).value, from: one)?.expiresAt == .max)
        #expect(mint.open(mint.make(now: -1_000, lifetime: 60).value, from: one)?.expiresAt == 0)
    }

    @Test("A challenge for one installation is not valid from another installation, nor without one")
    func bound() throws {
        let value = mint.make(now: 1_000, lifetime: 360, for: one).value
        let opened = try #require(mint.open(value, from: one))
        #expect(opened.isBound && opened.expiresAt == 1_360)
        #expect(mint.open(value, from: other) == nil)
        #expect(mint.open(value, from: []) == nil)
        // No bytes can be moved from the installation key to the account's name.
        let joined = ChallengeMint(key: mint.key, account: String(decoding: one, as: UTF8.self) + "one")
        #expect(joined.open(value, from: []) == nil)
        #expect(mint.open(mint.make(now: 1_000, lifetime: 60).value, from: one)?.isBound == false)
    }
}
