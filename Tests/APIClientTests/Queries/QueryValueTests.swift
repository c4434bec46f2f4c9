import APIClient
import Foundation
import Testing

// Acceptance list: S3.54
@Suite struct QueryValueTests {
    private struct Search: Encodable {
        var word = "cat"
        var limit = 3
        var tags = ["a", "b"]
        var exact: Bool? = true
        var score: Double = .nan
    }

    @Test("Parameters from an encodable value have its names, sorted")
    func encodable() throws {
        struct Page: Encodable { let size = 10, number = 2, tags = ["x"], more = ["k": 1.5] }
        #expect(try QueryValue(encoding: Page()) == ["more": ["k": 1.5], "number": 2, "size": 10, "tags": ["x"]])
    }

    @Test("A number keeps all its digits, or is refused")
    func digits() throws {
        struct Amount: Encodable { let amount: Decimal }
        for exact in ["0.1", "-12.50", "1234567890123.25", "0", "9007199254740993"] {
            let amount = try #require(Decimal(string: exact))
            #expect(throws: Never.self, "\(exact)") { try QueryValue(encoding: Amount(amount: amount)) }
        }
        for long in ["12345678901234567.89", "0.12345678901234567890"] {
            let amount = try #require(Decimal(string: long))
            #expect(code { try QueryValue(encoding: Amount(amount: amount)) } == .invalidQuery, "\(long)")
        }
        #expect(code { try QueryValue(encoding: ["id": UInt64.max]) } == .invalidQuery)
        #expect(throws: Never.self) { try QueryValue(encoding: ["text": "1e400 \\\" 99999999999999999999 \\"]) }
        #expect(throws: Never.self) { try QueryValue(encoding: ["small": 1e-300, "third": 1.0 / 3.0]) }
    }

    @Test("A value that cannot be encoded is refused by its place, and a single value has no names")
    func refused() {
        let text = message { try QueryValue(encoding: Search()) }
        #expect(text.hasPrefix("invalidQuery") && text.contains("score") && !text.contains("cat"), "\(text)")
        #expect(code { try QueryValue(encoding: 7) } == .invalidQuery)
        #expect(code { try QueryValue(encoding: [String(repeating: "x", count: 2 << 20)]) } == .invalidQuery)
    }
}
