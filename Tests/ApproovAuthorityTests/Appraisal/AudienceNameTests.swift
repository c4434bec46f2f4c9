import Testing

@testable import ApproovAuthority

@Suite struct AudienceNameTests {
    @Test(
        "All spellings of a URL have the same audience name",
        arguments: [
            "https://a.example.com", "https://a.example.com/", "https://A.Example.COM", "https://a.example.com:443",
            "HTTPS://a.example.com.",
        ])
    func same(url: String) {
        #expect(AudienceName(url) != nil)
        #expect(AudienceName(url) == AudienceName("https://a.example.com"))
    }

    @Test(
        "Different URLs have different audience names",
        arguments: ["http://a.example.com", "https://a.example.com:444", "https://b.example.com", "https://a.example.com/x"])
    func different(url: String) {
        #expect(AudienceName(url) != nil)
        #expect(AudienceName(url) != AudienceName("https://a.example.com"))
    }

    @Test(
        "Only an http or https URL without user, query and fragment has an audience name",
        arguments: [
            "", "a.example.com", "ftp://a.example.com", "https://", "https://u@a.example.com", "https://a.example.com?x",
            "https://a.example.com#x", "https://a.example.com:0", "https://a.example.com:65536", "https://a.example.com\\x",
            "https://a.example.com/" + String(repeating: "x", count: 2_048),
        ])
    func none(url: String) {
        #expect(AudienceName(url) == nil)
    }
}
