import Testing

@testable import OHTTP

@Suite("Variable-length integers")
struct VariableLengthIntegerTests {
    private func read(_ bytes: [UInt8]) -> (value: UInt64?, offset: Int) {
        var offset = 0
        return (VariableLengthInteger.read(bytes.span, at: &offset), offset)
    }

    @Test(
        "the examples of RFC 9000, appendix A.1, are read, longer forms too",
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
        "what is written is the shortest form, and read again", arguments: [0, 63, 64, 16_383, 16_384, 1 << 30 - 1, 1 << 30, 1 << 62 - 1])
    func boundaries(value: Int) {
        var bytes: [UInt8] = []
        VariableLengthInteger.append(value, to: &bytes)
        #expect(bytes.count == VariableLengthInteger.size(of: value))
        #expect(bytes.count == (value < 64 ? 1 : value < 16_384 ? 2 : value < 1 << 30 ? 4 : 8))
        #expect(read(bytes) == (UInt64(value), bytes.count))
    }

    @Test("every published vector is read and written", .enabled(if: Vectors.areThere, Vectors.whereTheyAre))
    func vectors() throws {
        let file = try Vectors.load("rfc9000-a1-varint.json")
        let decoded = try #require(file["decode"] as? [[String: Any]])
        for vector in decoded {
            let hex = try #require(vector["hex"] as? String)
            let value = try #require(vector["value"] as? String)
            #expect(read(try #require(Hex.decode(hex))).value == UInt64(value))
        }
        let encoded = try #require((file["encode_minimal"] as? [String: Any])?["cases"] as? [[String: Any]])
        for vector in encoded {
            let hex = try #require(vector["hex"] as? String)
            let value = try #require((vector["value"] as? String).flatMap { Int($0) })
            var bytes: [UInt8] = []
            VariableLengthInteger.append(value, to: &bytes)
            #expect(bytes == Hex.decode(hex))
        }
    }
}
