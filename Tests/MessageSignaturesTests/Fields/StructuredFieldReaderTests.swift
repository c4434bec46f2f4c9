import Testing

@testable import MessageSignatures

@Suite struct StructuredFieldReaderTests {
    private typealias Reader = StructuredFieldReader

    private func members(_ text: String) throws -> [StructuredFieldReader.Member] {
        var members: [Reader.Member] = []
        var reader = Reader(Array(text.utf8))
        try reader.readDictionary(into: &members)
        return members
    }

    @Test("A dictionary of inner lists is read with its parameters")
    func innerLists() throws {
        let read = try members(#" a-1=( "x";key="k";sf   "y\"\\" );created=12;tag="t", b=();alg=tok ,*c=:AAE=:"#)
        #expect(
            read == [
                .init(
                    key: "a-1",
                    value: .innerList(
                        [
                            .init(
                                value: .string("x"),
                                parameters: [.init(key: "key", value: .string("k")), .init(key: "sf", value: .boolean(true))]),
                            .init(value: .string("y\"\\"), parameters: []),
                        ],
                        parameters: [.init(key: "created", value: .integer(12)), .init(key: "tag", value: .string("t"))])),
                .init(key: "b", value: .innerList([], parameters: [.init(key: "alg", value: .other)])),
                .init(key: "*c", value: .item(.init(value: .bytes([0, 1]), parameters: []))),
            ])
    }

    @Test("Every kind of item is recognised")
    func items() throws {
        let kinds: [(String, Reader.BareItem)] = [
            ("1", .integer(1)), ("-999999999999999", .integer(-999_999_999_999_999)), ("007", .integer(7)), ("1.5", .other),
            ("-123456789012.125", .other), (#""a b""#, .string("a b")), ("tok/*:en!", .other), ("*", .other), ("?0", .boolean(false)),
            ("?1", .boolean(true)), ("::", .bytes([])), (":/+8=:", .bytes([0xFF, 0xEF])), ("@1700000000", .other), (#"%"f%c3%bc""#, .other),
        ]
        for (text, expected) in kinds {
            #expect(
                try members("a=\(text);b") == [
                    .init(key: "a", value: .item(.init(value: expected, parameters: [.init(key: "b", value: .boolean(true))])))
                ], "\(text)")
        }
        #expect(
            try members("a;b=?0") == [
                .init(key: "a", value: .item(.init(value: .boolean(true), parameters: [.init(key: "b", value: .boolean(false))])))
            ])
        #expect(try members("").isEmpty && members("  ").isEmpty)
    }

    @Test(
        "A text that is no dictionary is refused",
        arguments: [
            "A=1", "1=1", "a=", "a=1,", "a=1,,b=1", ",a", "a b", "a=(", "a=(1", "a=(1 2", "a=(1,2)", "a=(1)2", "a=(\"x\"\"y\")", "a=)",
            "a=\"",
            "a=\"x", "a=\"\\n\"", "a=\"\u{7F}\"", "a=\"\t\"", "a=\"é\"", "a=:", "a=:AA", "a=:AA:", "a=:A A=:", "a=:AB==:", "a=?", "a=?2",
            "a=-", "a=--1", "a=1.", "a=1.1234", "a=1234567890123.1", "a=1234567890123456", "a=@", "a=@1.5", "a=%x", "a;", "a;B", "a;b=",
            "a=1;;b", "a\t=1", "a= 1", "a=1\u{0}", "\u{0}", "a=(\u{0})", "a=(\"x\";)", "a=[1]", "a={}", "a=1 b=2",
        ])
    func malformed(text: String) {
        #expect(throws: StructuredFieldReader.Malformed.self) { try members(text) }
    }

    @Test("A key that occurs twice is refused, in the dictionary, over two lines, and in parameters")
    func duplicates() throws {
        for text in ["a=1, a=1", "a=1, b, a", "a=();x=1;x=1", "a=(\"x\";b;b)"] {
            #expect(throws: StructuredFieldReader.Duplicate.self, "\(text)") { try members(text) }
        }
        var all = try members("a=1")
        var second = Reader(Array("b=2, a=2".utf8))
        #expect(throws: StructuredFieldReader.Duplicate.self) { try second.readDictionary(into: &all) }
    }

    @Test("More members, items or parameters than the limit are refused")
    func limits() throws {
        func text(_ count: Int, _ make: (Int) -> String, _ separator: String) -> String {
            (0..<count).map(make).joined(separator: separator)
        }
        #expect(try members(text(64, { "a\($0)" }, ",")).count == 64)
        #expect(throws: StructuredFieldReader.Malformed.self) { try members(text(65, { "a\($0)" }, ",")) }
        #expect(throws: StructuredFieldReader.Malformed.self) { try members("a=(" + text(65, { "\($0)" }, " ") + ")") }
        #expect(throws: StructuredFieldReader.Malformed.self) { try members("a;" + text(65, { "b\($0)" }, ";")) }
    }
}
