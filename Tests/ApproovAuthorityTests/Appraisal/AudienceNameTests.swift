import Testing

@testable import ApproovAuthority

@Suite struct AudienceNameTests {
    @Test(
        "spellings of one URL are one name",
        arguments: [
            "https://a.example.com", "https://a.example.com/", "https://A.Example.COM", "https://a.example.com:443",
            "HTTPS://a.example.com.",
        ])
    func same(url: String) {
        #expect(AudienceName(url) != nil)
        #expect(AudienceName(url) == AudienceName("https://a.example.com"))
    }

    @Test(
        "other URLs are other names",
        arguments: ["http://a.example.com", "https://a.example.com:444", "https://b.example.com", "https://a.example.com/x"])
    func different(url: String) {
        #expect(AudienceName(url) != nil)
        #expect(AudienceName(url) != AudienceName("https://a.example.com"))
    }

    @Test(
        "only a plain http or https URL is a name",
        arguments: [
            "", "a.example.com", "ftp://a.example.com", "https://", "https://u@a.example.com", "https://a.example.com?x",
            "https://a.example.com#x", "https://a.example.com:0", "https://a.example.com:65536", "https://a.example.com\\x",
            "https://a.example.com/" + String(repeating: "x", count: 2_048),
        ])
    func none(url: String) {
        #expect(AudienceName(url) == nil)
    }
}
