import APIClient
import Foundation
import Testing

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

    @Test("A value that cannot be encoded is refused by its place, and a single value has no names")
    func refused() {
        let text = message { try QueryValue(encoding: Search()) }
        #expect(text.hasPrefix("invalidQuery") && text.contains("score") && !text.contains("cat"), "\(text)")
        #expect(code { try QueryValue(encoding: 7) } == .invalidQuery)
        #expect(code { try QueryValue(encoding: [String(repeating: "x", count: 2 << 20)]) } == .invalidQuery)
    }
}
