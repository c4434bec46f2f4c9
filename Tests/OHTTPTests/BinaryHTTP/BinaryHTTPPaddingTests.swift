import Foundation
import HTTPTypes
import OHTTP
import Testing

@Suite("Padding")
struct BinaryHTTPPaddingTests {
    /// Calculated by hand from the algorithm's definition: E = ⌊log2 L⌋, S = ⌊log2 E⌋ + 1, the last E − S bits become zero.
    @Test(
        "Padmé rounds up to the sizes that its definition gives",
        arguments: [
            (0, 0), (1, 1), (2, 2), (3, 3), (7, 7), (8, 8), (9, 10), (15, 16), (17, 18), (100, 104), (205, 208), (1000, 1024),
            (1024, 1024), (1025, 1088), (16_385, 17_408), (1_000_000, 1_015_808), (Int.max, Int.max),
        ])
    func padme(length: Int, padded: Int) {
        #expect(BinaryHTTPPadding.padme.paddedSize(of: length) == padded)
        #expect(BinaryHTTPPadding.none.paddedSize(of: length) == length)
    }

    @Test("Padmé never shrinks a size, adds less than 12 % and a byte, and keeps a padded size")
    func bounds() {
        for length in 1..<100_000 {
            let padded = BinaryHTTPPadding.padme.paddedSize(of: length)
            #expect(padded >= length && Double(padded) < Double(length) * 1.12 + 1)
            #expect(BinaryHTTPPadding.padme.paddedSize(of: padded) == padded)
        }
    }

    @Test("Size classes are those of Padmé, except that sizes up to 1 KiB become 1 KiB")
    func sizeClasses() {
        for length in 0...1_024 { #expect(BinaryHTTPPadding.sizeClasses.paddedSize(of: length) == 1_024) }
        for length in [1_025, 16_385, 1_000_000, Int.max] {
            #expect(BinaryHTTPPadding.sizeClasses.paddedSize(of: length) == BinaryHTTPPadding.padme.paddedSize(of: length))
        }
    }

    @Test("Messages of one size class are encoded to the same length")
    func classes() throws {
        let sizes = try Set(
            (0..<16).map { extra in
                var request = BinaryHTTPRequest(head: HTTPRequest(method: .post, scheme: "https", authority: "a", path: "/"))
                request.body = Data(count: 1030 + extra)
                return try request.encoded(padding: .padme).count
            })
        #expect(sizes.count == 1)
    }
}
