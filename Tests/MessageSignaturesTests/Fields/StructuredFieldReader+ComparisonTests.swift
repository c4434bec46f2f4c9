import RawStructuredFieldValues
import Testing

@testable import MessageSignatures

/// The reader beside the parser of swift-http-structured-headers, on texts that are dictionaries or nearly so.
@Suite struct StructuredFieldReaderComparisonTests {
    private static let items = [
        "\"@method\"", "\"a \\\"b\\\\\"", "\"\"", "12", "-0", "007", "999999999999999", "1.5", "-1.125", "tok", "*t/o:k", "?1", "?0",
        ":AAE=:", "::",
        ":/+8=:", "@1700000000", "@-1",
    ]
    private static let keys = ["a", "b", "sig1", "*x", "a-b.c_d*"]
    private static let spaces = ["", "", "", " ", "  "]
    private static let edits = Array("ab1\"\\:;,=()?@-.*% \t/A\u{0}\u{7F}".utf8) + [0x80, 0xFF]

    private static func parameters(_ generator: inout SeededGenerator) -> String {
        (0..<Int.random(in: 0...2, using: &generator)).map { _ in
            let key = keys.randomElement(using: &generator) ?? ""
            let value = Bool.random(using: &generator) ? "=" + (items.randomElement(using: &generator) ?? "") : ""
            return ";" + (spaces.randomElement(using: &generator) ?? "") + key + value
        }.joined()
    }

    private static func member(_ generator: inout SeededGenerator) -> String {
        func space(_ generator: inout SeededGenerator) -> String { spaces.randomElement(using: &generator) ?? "" }
        var value = ""
        switch Int.random(in: 0...3, using: &generator) {
        case 0: break
        case 1: value = "=" + (items.randomElement(using: &generator) ?? "")
        default:
            value = "=(" + space(&generator)
            for index in 0..<Int.random(in: 0...3, using: &generator) {
                value += (index > 0 ? " " : "") + (items.randomElement(using: &generator) ?? "")
                value += parameters(&generator) + space(&generator)
            }
            value += ")"
        }
        return (keys.randomElement(using: &generator) ?? "") + value + parameters(&generator)
    }

    /// A dictionary with a few bytes changed, or none.
    private static func text(_ generator: inout SeededGenerator) -> [UInt8] {
        let members = (0..<Int.random(in: 0...3, using: &generator)).map { _ in member(&generator) }
        let separator = [",", ", ", " ,\t"].randomElement(using: &generator) ?? ","
        return generator.edited(Array(members.joined(separator: separator).utf8), count: 2, with: edits)
    }

    private typealias Reader = StructuredFieldReader

    private func ours(_ item: RFC9651BareItem) -> Reader.BareItem? {
        switch item {
        case .string(let text): .string(text)
        case .integer(let number): .integer(number)
        case .bool(let value): .boolean(value)
        case .undecodedByteSequence(let text): Base64.decode(text).map(Reader.BareItem.bytes)
        case .token, .decimal, .date, .displayString: .other
        }
    }

    private func ours(_ parameters: OrderedMap<String, RFC9651BareItem>) -> [Reader.Parameter]? {
        let converted = parameters.compactMap { key, value in ours(value).map { Reader.Parameter(key: key, value: $0) } }
        return converted.count == parameters.count ? converted : nil
    }

    private func ours(_ item: Item) -> Reader.Item? {
        guard let value = ours(item.rfc9651BareItem), let parameters = ours(item.rfc9651Parameters) else { return nil }
        return Reader.Item(value: value, parameters: parameters)
    }

    /// What the parser read, as the reader would have it; nil when a byte sequence is not base64 in its one spelling.
    private func ours(_ dictionary: OrderedMap<String, ItemOrInnerList>) -> [Reader.Member]? {
        let members = dictionary.compactMap { key, value -> Reader.Member? in
            switch value {
            case .item(let item): return ours(item).map { .init(key: key, value: .item($0)) }
            case .innerList(let list):
                let items = list.bareInnerList.compactMap { ours($0) }
                guard items.count == list.bareInnerList.count, let parameters = ours(list.rfc9651Parameters) else { return nil }
                return .init(key: key, value: .innerList(items, parameters: parameters))
            }
        }
        return members.count == dictionary.count ? members : nil
    }

    @Test("Both read the same, but for what the reader refuses on purpose: duplicates, and base64 in a second spelling")
    func agreement() {
        var generator = SeededGenerator()
        var counts = (read: 0, refused: 0, duplicates: 0)
        for _ in 0..<4_000 {
            let text = Self.text(&generator)
            var parser = StructuredFieldValueParser(text)
            let theirs = try? parser.parseDictionaryFieldValue()
            var members: [Reader.Member] = []
            var reader = Reader(text)
            let shown = String(decoding: text, as: UTF8.self).debugDescription
            do {
                try reader.readDictionary(into: &members)
                counts.read += 1
                // The reader skips display strings without looking into them.
                if text.contains(UInt8(ascii: "%")), theirs == nil { continue }
                #expect(theirs.flatMap { ours($0) } == members, "\(shown)")
            } catch is Reader.Duplicate {
                counts.duplicates += 1
            } catch {
                counts.refused += 1
                #expect(theirs.flatMap { ours($0) } == nil, "\(shown)")
            }
        }
        // The texts are of all kinds.
        #expect(counts.read > 500 && counts.refused > 500 && counts.duplicates > 100, "\(counts)")
    }
}
