import ApproovBase
import Foundation
import Testing

@Suite struct Base64Tests {
    @Test("Base64 and base64url encode bytes as Foundation does, and decode the result", arguments: 0...70)
    func roundTrip(count: Int) {
        let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
        let standard = Data(bytes).base64EncodedString()
        let url = standard.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_").filter { $0 != "=" }
        #expect(Base64.encode(bytes) == standard)
        #expect(Base64.decode(standard) == bytes)
        #expect(Base64URL.encode(bytes) == url)
        #expect(Base64URL.decode(url) == bytes)
    }

    @Test("Base64 reads contiguous bytes all at once, and also encodes slices and lazy collections")
    func storage() {
        let bytes = Array(0..<UInt8(40))
        let text = Data(bytes).base64EncodedString()
        #expect(Base64.encode(OnePiece(bytes: bytes)) == text)
        #expect(Base64.encode(bytes[3...]) == Data(bytes[3...]).base64EncodedString())
        #expect(Base64.encode(bytes.lazy.map(\.self)) == text)
    }

    @Test(
        "Base64 text that the encoder would not have written is rejected",
        arguments: [
            "A", "AA", "AAA", "AA=", "AB==", "AAB=", "====", "A===", "=", "AAAA=", "AA==AA==", "AA-_", "AAA\n", " AAA", "AAAA\n",
            "AA\u{0}A", "ÄAAA",
        ])
    func strictStandard(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(
        "Base64url text that the encoder would not have written is rejected",
        arguments: ["A", "AAAAA", "AB", "AAB", "AA==", "AAA=", "AA+/", "AAA\n", "A A", "AA\u{0}A"])
    func strictURL(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("Base64url accepts exactly one last character for each value")
    func oneSpelling() {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        #expect(alphabet.filter { Base64URL.decode("A\($0)") != nil }.count == 4)
        #expect(alphabet.filter { Base64URL.decode("AA\($0)") != nil }.count == 16)
    }
}

/// Bytes that record an issue if they are read one by one instead of through their contiguous storage.
private struct OnePiece: RandomAccessCollection {
    let bytes: [UInt8]

    var startIndex: Int { 0 }
    var endIndex: Int { bytes.count }

    subscript(index: Int) -> UInt8 {
        Issue.record("byte \(index) was read on its own, not through the contiguous storage")
        return bytes[index]
    }

    func withContiguousStorageIfAvailable<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result? {
        try bytes.withUnsafeBufferPointer(body)
    }
}
