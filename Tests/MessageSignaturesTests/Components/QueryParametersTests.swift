import MessageSignatures
import Testing

@Suite struct QueryParametersTests {
    private func value(_ name: String, _ query: String) throws -> String {
        let request = try request("GET", "https://www.example.com/path\(query)")
        let text = try baseText(.request(request), [.queryParameter(name)])
        let line = try #require(text.split(separator: "\n").first)
        return String(line.drop { $0 != ":" }.dropFirst(2))
    }

    @Test("Values are re-encoded as the examples of RFC 9421, section 2.2.8 have them")
    func examples() throws {
        let query = "?param=value&foo=bar&baz=batman&qux="
        #expect(try value("baz", query) == "batman")
        #expect(try value("qux", query) == "")
        #expect(try value("param", query) == "value")
        let encoded = "?var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something"
        #expect(try value("var", encoded) == "this%20is%20a%20big%0Amultiline%20value")
        #expect(try value("bar", encoded) == "with%20plus%20whitespace")
        #expect(try value("façade\": ", encoded) == "something")
    }

    @Test(
        "Percent signs without digits stand for themselves, an equals sign after the first belongs to the value, empty pairs do not count")
    func spellings() throws {
        #expect(try value("a", "?&&a=100%&b") == "100%25")
        #expect(try value("b", "?a=1&b") == "")
        #expect(try value("a", "?a==x=y") == "%3Dx%3Dy")
        #expect(try value("a b", "?a%20b=%7e") == "%7E")
        #expect(try value("", "?=x") == "x")
        #expect(try value("a", "?a=%ff") == "%EF%BF%BD")
    }

    @Test("A parameter that is missing or occurs twice cannot be covered")
    func missing() {
        #expect(code { _ = try value("b", "?a=1") } == .missingComponent)
        #expect(code { _ = try value("a", "") } == .missingComponent)
        #expect(code { _ = try value("a", "?a=1&%61=2") } == .missingComponent)
    }
}
