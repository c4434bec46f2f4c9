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

    @Test("a token is found again with its claims, and another one is not")
    func found() throws {
        let cache = SignedTokenCache(capacity: 10)
        cache.insert(signed(1), of: "a")
        #expect(cache.token("a")?.payload.claims.exp == 1)
        #expect(cache.token("b") == nil)
    }

    @Test("the cache never holds more than its capacity, and keeps what is asked for", arguments: [1, 2, 3, 10, 1_000])
    func bounded(capacity: Int) {
        let cache = SignedTokenCache(capacity: capacity)
        for index in 0..<5_000 {
            cache.insert(signed(Int64(index)), of: "\(index)")
            #expect(cache.count <= max(2, capacity))
            if capacity >= 4 { #expect(cache.token("0") != nil) }
        }
    }

    @Test("a token that was verified before is still judged by its times, names and binding")
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

    @Test("after a token was verified, every other spelling of it is still refused")
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
        // Letters that Unicode counts as equal: the Kelvin sign is a K.
        for kelvin in [token.replacingOccurrences(of: "K", with: "\u{212a}"), token + "\u{200d}", token + "\0"]
        where kelvin.utf8.count != bytes.count {
            #expect(refusal(of: kelvin, by: verifier) == .malformed)
        }
        #expect(refusal(of: token, by: verifier) == nil)
    }

    @Test("a refused token is refused every time, with and without a cache", arguments: [0, 1, 4_096])
    func refusals(capacity: Int) throws {
        let verifier = try TokenVerifier(keys: [.hs256(bench.secret)], cachedTokens: capacity, time: ManualClock.at())
        let forged = Forge.hs256(payload: #"{"exp":\#(bench.exp)}"#, key: [UInt8](repeating: 1, count: 64))
        for _ in 0..<3 {
            #expect(refusal(of: token(), by: verifier) == nil)
            #expect(refusal(of: forged, by: verifier) == .badSignature)
            #expect(refusal(of: token(#","exp":1"#), by: verifier) == .malformed)
        }
    }

    @Test("verifiers with other keys share nothing")
    func separate() throws {
        #expect(refusal(of: token(), by: try bench.verifier()) == nil)
        #expect(refusal(of: token(), by: try Bench().verifier()) == .badSignature)
    }

    @Test("many threads verify few and many tokens at once")
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
