import Testing

@testable import Approov

@Suite struct SubstitutedQueryTests {
    @Test("Items are read decoded, and those that are not replaced keep their spelling")
    func items() throws {
        let text = "/a?x=%41&flag&k%65y=maps%2Dkey&bad=%zz&&=v&a=b=c"
        var query = try #require(SubstitutedQuery(text))
        var seen: [String] = []
        query.forEach { seen.append("\($0)=\($1)") }
        #expect(seen == ["x=A", "key=maps-key", "=v", "a=b=c"])
        #expect(query.text == text)
        #expect(query.replace { name, value in name == "key" ? "a b&c=d#é/%" : nil })
        #expect(query.text == "/a?x=%41&flag&k%65y=a%20b%26c%3Dd%23%C3%A9%2F%25&bad=%zz&&=v&a=b=c")
        #expect(SubstitutedQuery("/a") == nil)
    }
}
