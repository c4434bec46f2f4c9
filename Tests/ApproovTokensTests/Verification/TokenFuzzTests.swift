import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Foundation
import Testing

/// Random changes to tokens with a valid signature: the verifier does not crash, and reads every accepted payload as a strict parser does.
@Suite struct TokenFuzzTests {
    private let bench = Bench()

    private var seeds: [String] {
        [
            #"{"exp":\#(bench.exp),"iat":\#(ManualClock.start),"nbf":1,"anno":["a","b"],"did":"AAECAwQFBgcICQoLDA0ODw==","pay":"x"}"#,
            #" { "exp" : \#(bench.exp) , "aud":"h", "x" : {"y":[null,true,1.5e3,"\u00e9\n"]} } "#, #"{"exp":\#(bench.exp)}"#,
        ]
    }

    /// Changes, drops, repeats or inserts bytes in a few places.
    private func mutated(_ bytes: [UInt8], by generator: inout SeededGenerator) -> [UInt8] {
        let telling = Array(#"{}[]",:\0123456789.-+eEtfnu \#t\#n\#0é"#.utf8)
        var bytes = bytes
        for _ in 0...Int(generator.next() % 3) where !bytes.isEmpty {
            let place = Int(generator.next() % UInt64(bytes.count))
            switch generator.next() % 5 {
            case 0: bytes[place] ^= 1 << UInt8(generator.next() % 8)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(telling[Int(generator.next() % UInt64(telling.count))], at: place)
            case 3: bytes[place] = telling[Int(generator.next() % UInt64(telling.count))]
            default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 12)], at: place)
            }
        }
        return bytes
    }

    @Test("Mutated payloads are rejected, or accepted with the claims that a strict parser reads", arguments: [1, 2, 3, 4] as [UInt64])
    func payloads(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let verifier = try bench.verifier()
        var accepted = 0
        for round in 0..<2_000 {
            let payload = mutated(Array(seeds[round % seeds.count].utf8), by: &generator)
            let token = Forge.hs256(
                segments: Forge.segment(#"{"alg":"HS256","typ":"JWT"}"#) + "." + Base64URL.encode(payload), key: bench.secret.bytes)
            guard let verified = try? verifier.verify(token) else { continue }
            accepted += 1
            let strict = try TokenClaims(json: try JSONValue(reading: payload, limit: 10_000))
            #expect(verified.claims == strict, "\(String(decoding: payload, as: UTF8.self))")
        }
        #expect(accepted > 50)
    }

    @Test("Mutated headers with a valid signature are rejected, unless they are the same JSON or lack typ", arguments: [5, 6] as [UInt64])
    func headers(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let verifier = try bench.verifier()
        for _ in 0..<2_000 {
            let header = mutated(Array(#"{"alg":"HS256", "typ":"JWT"}"#.utf8), by: &generator)
            let segments = Base64URL.encode(header) + "." + Forge.segment(#"{"exp":\#(bench.exp)}"#)
            guard (try? verifier.verify(Forge.hs256(segments: segments, key: bench.secret.bytes))) != nil else { continue }
            let strict = try JSONValue(reading: header, limit: 1_000).object()
            #expect(strict == ["alg": "HS256", "typ": "JWT"] || strict == ["alg": "HS256"])
        }
    }

    @Test("Random bytes are rejected without a crash", arguments: [7, 8] as [UInt64])
    func garbage(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let verifier = try bench.verifier()
        for _ in 0..<2_000 {
            let bytes = (0..<Int(generator.next() % 200)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            #expect(refusal(of: String(decoding: bytes, as: UTF8.self), by: verifier) != nil)
            #expect(refusal(of: Base64URL.encode(bytes) + ".e30." + Base64URL.encode(bytes), by: verifier) != nil)
        }
    }
}
