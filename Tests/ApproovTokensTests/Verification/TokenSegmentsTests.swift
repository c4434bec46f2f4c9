import Testing

@testable import ApproovTokens

@Suite struct TokenSegmentsTests {
    private func parsed(_ token: String) -> TokenSegments? { Array(token.utf8).withUnsafeBufferPointer { TokenSegments($0) } }

    @Test("The three segments are found")
    func found() throws {
        let segments = try #require(parsed("abcd.efghij.kl"))
        #expect(segments.header == 0..<4)
        #expect(segments.payload == 5..<11)
        #expect(segments.signature == 12..<14)
    }

    @Test(
        "Other numbers of segments, empty ones, and those with an impossible length are refused",
        arguments: [
            "", ".", "..", "...", "ab", "ab.cd", "ab..cd", ".ab.cd", "ab.cd.", "ab.cd.ef.gh", "ab.cd..ef", "a.bc.de", "ab.cdefg.hi",
        ])
    func refused(token: String) {
        #expect(parsed(token) == nil)
    }

    @Test("Of all bytes, only those of the base64url alphabet are accepted, at each place of a token")
    func alphabet() {
        let alphabet = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let token = Array((String(repeating: "a", count: 100) + "." + String(repeating: "b", count: 100) + ".cd").utf8)
        for place in token.indices where token[place] != UInt8(ascii: ".") {
            let accepted = (UInt8.min...UInt8.max).filter { byte in
                var changed = token
                changed[place] = byte
                return changed.withUnsafeBufferPointer { TokenSegments($0) } != nil
            }
            #expect(Set(accepted) == alphabet, "at \(place)")
        }
    }
}
