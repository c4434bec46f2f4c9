import Testing

@testable import ApproovCLI

@Suite struct ConsoleTests {
    @Test("A URL with user information, a query or a fragment is not shown")
    func withoutSecrets() {
        #expect(Console.withoutSecrets("https://x.example.com/a") == "https://x.example.com/a")
        for url in ["https://u:SECRET@x.example.com", "https://x.example.com/?tok=SECRET", "https://x.example.com/#SECRET"] {
            #expect(!Console.withoutSecrets(url).contains("SECRET"))
        }
    }
}
