import Testing

@testable import HTTPRecording

@Suite struct TextRedactorTests {
    private func redacted(_ text: String) -> String {
        String(decoding: TextRedactor.redacted(Array(text.utf8), SecretNames(["straße"])), as: UTF8.self)
    }

    @Test(
        "The rest of a line after a secret name is redacted",
        arguments: [
            ("password=x", "password=REDACTED"), ("a: b\r\nX-Api-Key :\t x y\r\nc: d", "a: b\r\nX-Api-Key :\t REDACTED\r\nc: d"),
            ("var t = {'access_token': 'x'}", "var t = {'access_token': REDACTED"), ("Straße: x", "Straße: REDACTED"),
            ("the new token is: x, pin=4711 or so", "the new token is: x, pin=REDACTED"),
        ])
    func secrets(text: String, result: String) { #expect(redacted(text) == result) }

    @Test(
        "Other text stays",
        arguments: ["", "password", "password=", "password:\nx", "keyboard: x", "a token", "=:", "see https://x.test"])
    func others(text: String) { #expect(redacted(text) == text) }
}
