import Testing

@testable import HTTPRecording

@Suite struct SecretNamesTests {
    @Test(
        "Words and short names make a name secret",
        arguments: [
            "password", "new_password", "X-Api-Key", "accessToken", "PIN", "sessionId", "client-secret", "code_verifier", "secureStrings",
            "tls.key", "API Key", "card[cvc]", "userPin", "userPIN", "user[pin]", "user[pin][]", "db_pwd", "otp_code", "api.key",
            "AccountKey", "passcode", "cvv2", "otp[0]", "authKey", "security_code", "password_reset_url", "password_hint",
            "client-key-data", "PHPSESSID", "_csrf", "XSRF-TOKEN", "recovery_codes", "token_types_pin", "wifi_psk",
            "walletMnemonic", "totp", "user_totp", "passkey", "app_key", "hmacKey", "AES-Key", "license_key", "recovery_key", "seedPhrase",
        ])
    func secret(name: String) { #expect(SecretNames().contains(name)) }

    @Test(
        "Other names are not secret",
        arguments: [
            "shipping", "opinion", "keyboard", "author", "passenger", "page", "id", "",
            "primary_key", "token_type", "token_endpoint", "refresh_token_expires_in", "token_endpoint_auth_methods_supported", "keyId",
            "pinned", "pin_count", "bypass", "[]", "sessionCount", "token_expiration", "session_timeout", "accessTokenExpirationDate",
            "TOKENTYPE", "token_uri", "token_type_hint", "md5", "address1",
        ])
    func plain(name: String) { #expect(!SecretNames().contains(name)) }

    @Test("The private members of a JSON Web Key are known as they are spelled, unless the app keeps them")
    func keyMembers() {
        for name in ["d", "p", "q", "dp", "dq", "qi", "k", "oth"] { #expect(SecretNames().isPrivate(keyMember: name)) }
        for name in ["D", "n", "e", "x", "y", "kid"] { #expect(!SecretNames().isPrivate(keyMember: name)) }
        #expect(!SecretNames([], keeping: ["d"]).isPrivate(keyMember: "d"))
    }

    @Test("Long names take no more time than short ones", .timeLimit(.minutes(1)))
    func long() {
        let names = SecretNames()
        for part in ["a\u{301}\u{316}", "\u{1F1E6}", "key"] { #expect(names.contains(String(repeating: part, count: 1 << 18))) }
        #expect(!names.isMentioned(in: Array(String(repeating: "\u{1F1E6}", count: 1 << 18).utf8)))
        var secrets: Set<NotedSecret> = []
        secrets.note("a" + String(repeating: "\u{301}", count: 1 << 18) + String(repeating: "\u{316}", count: 1 << 18), as: .body)
        #expect(secrets.isEmpty)
    }

    @Test("Very many short words, equal words and other words take little longer than other text", .timeLimit(.minutes(1)))
    func manyWords() {
        for text in [
            String(repeating: "a. ", count: 1 << 22), String(repeating: "token_type ", count: 1 << 20),
            (0..<1 << 18).map { "word\($0)" }.joined(separator: "."),
        ] {
            #expect(!SecretNames().isMentioned(in: Array(text.utf8)))
        }
    }

    @Test("Names of the caller's are compared as a whole, without letter case and separators")
    func further() {
        let names = SecretNames(["Tax_ID"])
        #expect(names.contains("taxId") && !names.contains("taxIds") && SecretNames(["token_url"]).contains("tokenURL"))
    }

    @Test("Names that the caller keeps are not secret, whatever the rules say")
    func kept() {
        let names = SecretNames(["iban"], keeping: ["prompt_tokens", "key", "IBAN"])
        #expect(!names.contains("promptTokens") && !names.contains("Key") && !names.contains("iban") && names.contains("tokens"))
        #expect(names.announcement(of: Array("key".utf8)[...]) == .nothing)
    }
}
