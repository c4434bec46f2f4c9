import ApproovBase
import Attestation
import Crypto
import Testing

@testable import ApproovAuthority

@Suite struct ChallengeMintTests {
    private let mint = ChallengeMint(key: SymmetricKey(size: .bits256), account: "one")

    @Test("a challenge says when it ends, and no two are equal")
    func genuine() throws {
        let first = mint.make(now: 1_000, lifetime: 60)
        #expect(first.expiresIn == 60)
        let opened = try #require(mint.open(first.value))
        #expect(opened.expiresAt == 1_060)
        #expect(opened.nonce.count == 16)
        #expect(mint.open(mint.make(now: 1_000, lifetime: 60).value)?.nonce != opened.nonce)
    }

    @Test("a challenge with any bit changed is none")
    func changed() throws {
        let bytes = try #require(Base64URL.decode(mint.make(now: 1_000, lifetime: 60).value))
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(mint.open(Base64URL.encode(changed)) == nil)
        }
    }

    @Test("a challenge under another key or for another account is none")
    func foreign() {
        let value = mint.make(now: 1_000, lifetime: 60).value
        #expect(ChallengeMint(key: SymmetricKey(size: .bits256), account: "one").open(value) == nil)
        #expect(ChallengeMint(key: mint.key, account: "two").open(value) == nil)
    }

    @Test("an expiry beyond all bounds is no crash")
    func overflow() {
        #expect(mint.open(mint.make(now: .max - 60, lifetime: 60).value)?.expiresAt == .max)
        #expect(mint.open(mint.make(now: -1_000, lifetime: 60).value)?.expiresAt == 0)
    }
}
