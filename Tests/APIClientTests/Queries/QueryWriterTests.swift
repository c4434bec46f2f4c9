import APIClient
import Foundation
import FoundationNetworking
import Testing

// Acceptance list: S2.13, S2.45, S2.46, S2.47, S2.48, S2.49, S2.50
@Suite struct QueryWriterTests {
    private static let kittens: QueryValue = ["options": ["include": ["fuzzy", "fluffy", "not mean"], "2+2": 4]]

    private func query(_ value: QueryValue, _ format: QueryFormat = QueryFormat()) throws -> String? {
        var builder = RequestBuilder(url: try #require(URL(string: "https://api.example.com/kittens")))
        builder.query = value
        builder.queryFormat = format
        return try builder.build().request.url?.query(percentEncoded: true)
    }

    @Test("By default arrays are indexed, dictionaries subscripted, and plus and space percent-encoded")
    func standard() throws {
        let expected =
            "options%5Binclude%5D%5B0%5D=fuzzy&options%5Binclude%5D%5B1%5D=fluffy&options%5Binclude%5D%5B2%5D=not%20mean"
            + "&options%5B2%2B2%5D=4"
        #expect(try query(Self.kittens) == expected)
    }

    @Test("The formats of Conduit's example give Conduit's query, in the order of the literal")
    func conduit() throws {
        let format = QueryFormat(arrays: .commaSeparated, dictionaries: .dotNotated, plus: .literal, space: .plus)
        #expect(try query(Self.kittens, format) == "options.include=fuzzy,fluffy,not+mean&options.2+2=4")
    }

    @Test(
        "Each format writes an array in its way",
        arguments: [
            (QueryFormat.Arrays.indexed, "a%5B0%5D=x&a%5B1%5D=y%2Cz"), (.bracketed, "a%5B%5D=x&a%5B%5D=y%2Cz"),
            (.duplicatedKeys, "a=x&a=y%2Cz"), (.commaSeparated, "a=x,y%2Cz"),
        ])
    func arrays(format: QueryFormat.Arrays, expected: String) throws {
        #expect(try query(["a": ["x", "y,z"]], QueryFormat(arrays: format, encodingAlso: [","])) == expected)
    }

    @Test(
        "Plus and space follow their rules in names and values",
        arguments: [
            (QueryFormat.Plus.percentEncoded, QueryFormat.Space.percentEncoded, "a%2Bb%20c=%2B%20"),
            (.literal, .percentEncoded, "a+b%20c=+%20"), (.percentEncodedSpace, .percentEncoded, "a%20b%20c=%20%20"),
            (.percentEncoded, .plus, "a%2Bb+c=%2B+"), (.literal, .plus, "a+b+c=++"),
        ])
    func signs(plus: QueryFormat.Plus, space: QueryFormat.Space, expected: String) throws {
        #expect(try query(["a+b c": "+ "], QueryFormat(plus: plus, space: space)) == expected)
    }

    @Test("Reserved characters stay as they are unless the format encodes them too, and delimiters are always encoded")
    func reserved() throws {
        #expect(try query(["a": "!*'():@$,/?"]) == "a=!*'():@$,/?")
        #expect(try query(["a": "!*'():@$,/?"], QueryFormat(encodingAlso: ["!", "/", "?", "x"])) == "a=%21*'():@$,%2F%3F")
        #expect(try query(["a&=#[]%;": "&=#[]%;\"<>\\^`{|}"]) == "a%26%3D%23%5B%5D%25%3B=%26%3D%23%5B%5D%25%3B%22%3C%3E%5C%5E%60%7B%7C%7D")
        #expect(try query(["a": .string("\u{0}\r\n\u{E9}\u{1F431}")]) == "a=%00%0D%0A%C3%A9%F0%9F%90%B1")
    }

    @Test("Values of each kind have their text, null has no equals sign, and empty lists are left out")
    func kinds() throws {
        #expect(
            try query(["n": nil, "t": true, "i": -7, "r": 0.5, "e": 1e300, "s": "", "l": [], "d": [:], "b": .bytes([0, 0xFF])])
                == "n&t=true&i=-7&r=0.5&e=1e300&s=&b=%00%FF")
    }

    @Test("A name may occur twice only where names repeat")
    func duplicates() throws {
        #expect(try query(["a": 1, "a": 2], QueryFormat(arrays: .duplicatedKeys)) == "a=1&a=2")
        for arrays in [QueryFormat.Arrays.indexed, .bracketed, .commaSeparated] {
            #expect(code { try query(["a": 1, "a": 2], QueryFormat(arrays: arrays)) } == .invalidQuery)
        }
        #expect(code { try query(["a": ["b": 1, "b": 2]], QueryFormat(arrays: .duplicatedKeys)) } == .invalidQuery)
    }

    @Test("A name that is not UTF-8 is written byte by byte, at every depth, and compared so")
    func foreignNames() throws {
        let inner = QueryParameter(nameBytes: [0xFF, 0x26, 0xC0], ["x", "y"])
        let outer: QueryValue = .dictionary([QueryParameter(nameBytes: [0xFE], .dictionary([inner]))])
        #expect(try query(outer) == "%FE%5B%FF%26%C0%5D%5B0%5D=x&%FE%5B%FF%26%C0%5D%5B1%5D=y")
        #expect(try query(outer, QueryFormat(arrays: .commaSeparated, dictionaries: .dotNotated)) == "%FE.%FF%26%C0=x,y")
        for byte in "[].".utf8 {
            let value: QueryValue = .dictionary([QueryParameter("a", .dictionary([QueryParameter(nameBytes: [0xFF, byte], 1)]))])
            #expect(code { try query(value, QueryFormat(dictionaries: .dotNotated)) } == .invalidQuery)
        }
        let (first, second) = (QueryParameter(nameBytes: [0xFF], 1), QueryParameter(nameBytes: [0xFE], 1))
        #expect(first != second && first.name == second.name && QueryParameter("\u{E9}", 1) != QueryParameter("e\u{301}", 1))
        #expect(try query(.dictionary([first, second])) == "%FF=1&%FE=1")
        #expect(code { try query(.dictionary([first, first])) } == .invalidQuery)
    }

    private static let inexpressible: [(QueryValue, QueryFormat)] = {
        let nested: QueryValue = ["secret": [["canary"]]]
        let named: QueryValue = ["secret": [["k": "canary"]]]
        let dotted: QueryValue = ["secret": ["a.b": "canary"]]
        let gap: QueryValue = ["secret": ["canary", nil]]
        let others: [QueryValue] = [
            ["secret": ["": "canary"]], ["secret": ["a[b]": "canary"]], ["secret": ["a]": "canary"]], ["secret": .real(.nan)],
            ["secret": [.real(.infinity)]],
        ]
        return [
            (nested, QueryFormat(arrays: .bracketed)), (nested, QueryFormat(arrays: .duplicatedKeys)),
            (nested, QueryFormat(arrays: .commaSeparated)), (named, QueryFormat(arrays: .duplicatedKeys)),
            (named, QueryFormat(arrays: .commaSeparated)), (gap, QueryFormat(arrays: .commaSeparated)),
            (dotted, QueryFormat(dictionaries: .dotNotated)),
        ] + others.map { ($0, QueryFormat()) }
    }()

    @Test("What a format cannot express is refused by the parameter's name, without its value", arguments: inexpressible)
    func refused(value: QueryValue, format: QueryFormat) {
        let text = message { try query(value, format) }
        #expect(text.hasPrefix("invalidQuery") && text.contains("secret") && !text.contains("canary"), "\(text)")
    }

    @Test("Parameters nested 32 levels deep are written, and 33 are refused")
    func depth() throws {
        func nested(_ levels: Int) -> QueryValue { (0..<levels).reduce(1) { value, _ in [value] } }
        #expect(try query(["a": nested(31)])?.hasSuffix("=1") == true)
        #expect(code { try query(["a": nested(32)]) } == .invalidQuery)
        #expect(code { try query(["a": nested(10_000)]) } == .invalidQuery)
    }

    @Test("A query has at most 65,536 bytes, and its parameters have names")
    func limits() {
        #expect(code { try query(["a": .string(String(repeating: "x", count: 70_000))]) } == .invalidQuery)
        #expect(code { try query(["x"]) } == .invalidQuery)
        #expect(code { try query("x") } == .invalidQuery)
    }
}
