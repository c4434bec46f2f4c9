import Testing

@testable import HTTPRecording

@Suite struct TextRedactorTests {
    private func redacted(_ text: String) -> String {
        var secrets: Set<NotedSecret> = []
        return String(decoding: TextRedactor.redacted(Array(text.utf8), SecretNames(["straße", "api.code"]), &secrets), as: UTF8.self)
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
        "A name is found beside characters beyond ASCII",
        arguments: [
            ("\u{FEFF}pin=1234", "\u{FEFF}pin=REDACTED"), ("“pin”: 1234", "“pin”: REDACTED"), ("‘pin’ = 1", "‘pin’ = REDACTED"),
            ("pin\u{A0}: 1", "pin\u{A0}: REDACTED"), ("pin \u{A0}\u{202F}: 1", "pin \u{A0}\u{202F}: REDACTED"),
            ("« pin » : 1", "« pin » : REDACTED"), ("\u{A0}pin:1", "\u{A0}pin:REDACTED"), ("a—pin=1", "a—pin=REDACTED"),
        ])
    func beyondASCII(text: String, result: String) { #expect(redacted(text) == result) }

    @Test(
        "A name is found inside quotation marks and brackets, and with dots",
        arguments: [
            ("got {\\\"password\\\":\\\"x\\\"}", "got {\\\"password\\\":REDACTED"),
            ("$config['password'] = 'x'", "$config['password'] = REDACTED"),
            ("user[password]=x", "user[password]=REDACTED"), ("(pin) : 1", "(pin) : REDACTED"), ("\"a.pin\": 1", "\"a.pin\": REDACTED"),
            ("token[]=x", "token[]=REDACTED"), ("tokens[12] = x", "tokens[12] = REDACTED"),
            ("user[pin][0]=x", "user[pin][0]=REDACTED"), ("api.code=1", "api.code=REDACTED"), ("the api.code: 1", "the api.code: REDACTED"),
        ])
    func insideBrackets(text: String, result: String) { #expect(redacted(text) == result) }

    @Test("Of the rest of a line nothing is noted that has quotation marks or brackets in it")
    func noted() {
        var secrets: Set<NotedSecret> = []
        _ = TextRedactor.redacted(
            Array("pin: 47114711}, x\npassword = 'hunter2-x' y\ntoken: a long phrase-1 ".utf8), SecretNames(), &secrets)
        #expect(Set(secrets.map(\.text)) == ["47114711", "hunter2-x", "a long phrase-1"])
    }

    @Test("Many blanks and quotation marks take no more time than other text", .timeLimit(.minutes(1)))
    func longGaps() {
        for part in ["\u{A0} ", "”]", "“ ”", " pin ", ".\u{A0}", "[1]", "[", "[11", "pin[ ]"] {
            let text = String(repeating: part, count: 50_000)
            #expect(redacted(text) == text)
        }
    }

    @Test(
        "Other text stays",
        arguments: [
            "spin=1", "épin=1", "code=1", "pin, [a]: 1", "pin\n= 1", "\u{A0}: x", "", "password", "password=", "password:\nx",
            "keyboard: x", "a token", "=:", "see https://x.test",
        ])
    func others(text: String) { #expect(redacted(text) == text) }
}
