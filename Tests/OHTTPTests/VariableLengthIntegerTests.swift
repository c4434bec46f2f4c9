import Testing

@testable import OHTTP

@Suite("Variable-length integers")
struct VariableLengthIntegerTests {
    private func read(_ bytes: [UInt8]) -> (value: UInt64?, offset: Int) {
        var offset = 0
        return (VariableLengthInteger.read(bytes.span, at: &offset), offset)
    }

    @Test(
        "The examples of RFC 9000, appendix A.1 are decoded, including longer forms, but not if cut off",
        arguments: [
            ("c2197c5eff14e88c", 151_288_809_941_952_652), ("9d7f3e7d", 494_878_333), ("7bbd", 15_293), ("25", 37), ("4025", 37),
        ] as [(String, UInt64)])
    func examples(hex: String, value: UInt64) throws {
        let bytes = try #require(Hex.decode(hex))
        #expect(read(bytes).value == value)
        #expect(read(bytes).offset == bytes.count)
        for count in bytes.indices { #expect(read([UInt8](bytes.prefix(count))) == (nil, 0)) }
    }

    @Test(
        "An integer is encoded in the shortest form, and decoded again",
        arguments: [
            (0, "00"), (37, "25"), (63, "3f"), (64, "4040"), (15_293, "7bbd"), (16_383, "7fff"), (16_384, "80004000"),
            (494_878_333, "9d7f3e7d"), (1 << 30 - 1, "bfffffff"), (1 << 30, "c000000040000000"),
            (151_288_809_941_952_652, "c2197c5eff14e88c"), (1 << 62 - 1, "ffffffffffffffff"),
        ])
    func shortest(value: Int, hex: String) {
        var bytes: [UInt8] = []
        VariableLengthInteger.append(value, to: &bytes)
        #expect(bytes == Hex.decode(hex))
        #expect(bytes.count == VariableLengthInteger.size(of: value))
        #expect(read(bytes) == (UInt64(value), bytes.count))
    }
}
