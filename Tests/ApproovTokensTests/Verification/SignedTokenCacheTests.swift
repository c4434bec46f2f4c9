import ApproovTesting
import Attestation
import Foundation
import Testing

@testable import ApproovTokens

@Suite struct SignedTokenCacheTests {
    private let bench = Bench()

    private func token(_ extra: String = "") -> String {
        Forge.hs256(payload: #"{"exp":\#(bench.exp)\#(extra)}"#, key: bench.secret.bytes)
    }

    private func signed(_ exp: Int64) -> SignedToken {
        SignedToken(payload: TokenPayload(claims: TokenClaims(exp: exp), nbf: nil), kid: nil, algorithm: .hs256)
    }

    @Test("The cache returns the claims of a stored token, and nil for another token")
    func found() throws {
        let cache = SignedTokenCache(capacity: 10)
        cache.insert(signed(1), of: "a")
        #expect(cache.token("a")?.payload.claims.exp == 1)
        #expect(cache.token("b") == nil)
    }

    @Test("The cache never exceeds its capacity, and keeps an entry that is in use", arguments: [1, 2, 3, 10, 1_000])
    func bounded(capacity: Int) {
        let cache = SignedTokenCache(capacity: capacity)
        for index in 0..<5_000 {
            cache.insert(signed(Int64(index)), of: "\(index)")
            #expect(cache.count <= max(2, capacity))
            if capacity >= 4 { #expect(cache.token("0") != nil) }
        }
    }

    @Test("A cached token is still checked for its binding and expiry")
    func judgedAgain() throws {
        let clock = ManualClock.at()
        let verifier = try TokenVerifier(keys: [.hs256(bench.secret)], time: clock)
        let token = token(#","pay":"\#(Binding.payHash(of: "Bearer a"))""#)
        for _ in 0..<2 {
            #expect(refusal(of: token, by: verifier, binding: .required(["Bearer a"])) == nil)
            #expect(refusal(of: token, by: verifier, binding: .required(["Bearer b"])) == .bindingMismatch)
            #expect(refusal(of: token, by: verifier, binding: .required(["Bearer a", "Bearer a"])) == .bindingAmbiguous)
            #expect(refusal(of: token, by: verifier, binding: .required([])) == .bindingMissing)
        }
        clock.setDate(Date(timeIntervalSince1970: TimeInterval(bench.exp)))
        #expect(refusal(of: token, by: verifier, binding: .required(["Bearer a"])) == .expired)
        clock.setDate(Date(timeIntervalSince1970: TimeInterval(ManualClock.start)))
        #expect(refusal(of: token, by: verifier, binding: .required(["Bearer a"])) == nil)
    }

    @Test("After a token has been verified, every altered spelling of it is still rejected")
    func otherSpellings() throws {
        let verifier = try bench.verifier()
        let token = token()
        #expect(refusal(of: token, by: verifier) == nil)
        let bytes = Array(token.utf8)
        for offset in bytes.indices {
            for bit in [1, 2, 32] as [UInt8] {
                var changed = bytes
                changed[offset] ^= bit
                #expect(refusal(of: String(decoding: changed, as: UTF8.self), by: verifier) != nil)
            }
        }
        // Texts that Unicode treats as equal: the Kelvin sign is equal to K.
        for kelvin in [token.replacingOccurrences(of: "K", with: "\u{212a}"), token + "\u{200d}", token + "\0"]
        where kelvin.utf8.count != bytes.count {
            #expect(refusal(of: kelvin, by: verifier) == .malformed)
        }
        #expect(refusal(of: token, by: verifier) == nil)
    }

    @Test("A rejected token is rejected every time, with and without a cache", arguments: [0, 1, 4_096])
    func refusals(capacity: Int) throws {
        let verifier = try TokenVerifier(keys: [.hs256(bench.secret)], cachedTokens: capacity, time: ManualClock.at())
        let forged = Forge.hs256(payload: #"{"exp":\#(bench.exp)}"#, key: [UInt8](repeating: 1, count: 64))
        for _ in 0..<3 {
            #expect(refusal(of: token(), by: verifier) == nil)
            #expect(refusal(of: forged, by: verifier) == .badSignature)
            #expect(refusal(of: token(#","exp":1"#), by: verifier) == .malformed)
        }
    }

    @Test("Verifiers with different keys share no cache")
    func separate() throws {
        #expect(refusal(of: token(), by: try bench.verifier()) == nil)
        #expect(refusal(of: token(), by: try Bench().verifier()) == .badSignature)
    }

    @Test("Concurrent calls get their own token's claims, with more tokens than the cache holds")
    func concurrent() async throws {
        let verifier = try TokenVerifier(keys: [.hs256(bench.secret)], cachedTokens: 8, time: ManualClock.at())
        let tokens = (0..<20).map { (id: "\($0)", token: token(#","did":"\#($0)""#)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<400 {
                group.addTask {
                    let (id, token) = tokens[index % tokens.count]
                    let verified = try verifier.verify(token)
                    #expect(verified.claims.did == id)
                }
            }
            try await group.waitForAll()
        }
    }
}
