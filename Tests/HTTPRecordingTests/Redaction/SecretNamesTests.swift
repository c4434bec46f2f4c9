import Testing

@testable import HTTPRecording

@Suite struct SecretNamesTests {
    @Test(
        "Words and short names make a name secret",
        arguments: [
            "password", "new_password", "X-Api-Key", "accessToken", "PIN", "sessionId", "client-secret", "code_verifier", "secureStrings",
            "tls.key", "API Key", "card[cvc]", "userPin", "userPIN", "user[pin]", "user[pin][]", "db_pwd", "otp_code", "api.key",
            "AccountKey",
            "client-key-data", "PHPSESSID", "_csrf", "XSRF-TOKEN", "recovery_codes", "token_types_pin",
        ])
    func secret(name: String) { #expect(SecretNames().contains(name)) }

    @Test(
        "Other names are not secret",
        arguments: [
            "shipping", "opinion", "keyboard", "author", "passenger", "page", "id", "",
            "primary_key", "token_type", "token_endpoint", "refresh_token_expires_in", "token_endpoint_auth_methods_supported", "keyId",
            "pinned", "pin_count", "bypass", "[]", "sessionCount",
        ])
    func plain(name: String) { #expect(!SecretNames().contains(name)) }

    @Test("Names of the caller's are compared as a whole, without letter case and separators")
    func further() {
        let names = SecretNames(["Tax_ID"])
        #expect(names.contains("taxId") && !names.contains("taxIds"))
    }

    @Test("Names that the caller keeps are not secret, whatever the rules say")
    func kept() {
        let names = SecretNames(["iban"], keeping: ["prompt_tokens", "key", "IBAN"])
        #expect(!names.contains("promptTokens") && !names.contains("Key") && !names.contains("iban") && names.contains("tokens"))
        #expect(names.announcement(of: Array("key".utf8)[...]) == .nothing)
    }
}
