import Testing

@testable import HTTPRecording

@Suite struct SecretNamesTests {
    @Test(
        "Words and short names make a name secret",
        arguments: [
            "password", "new_password", "X-Api-Key", "accessToken", "PIN", "sessionId", "client-secret", "code_verifier", "secureStrings",
        ])
    func secret(name: String) { #expect(SecretNames().contains(name)) }

    @Test("Other names are not secret", arguments: ["shipping", "opinion", "keyboard", "author", "passenger", "page", "id", ""])
    func plain(name: String) { #expect(!SecretNames().contains(name)) }

    @Test("Names of the caller's are compared as a whole, without letter case and separators")
    func further() {
        let names = SecretNames(["Tax_ID"])
        #expect(names.contains("taxId") && !names.contains("taxIds"))
    }
}
