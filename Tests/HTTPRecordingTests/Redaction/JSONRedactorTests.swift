import Testing

@testable import HTTPRecording

@Suite struct JSONRedactorTests {
    private func redacted(_ text: String) throws -> String {
        var secrets: Set<NotedSecret> = []
        return String(decoding: try JSONRedactor.redacted(Array(text.utf8), SecretNames(), &secrets), as: UTF8.self)
    }

    @Test("Strings and numbers of secret members are replaced, at any depth below them, and nothing else")
    func secrets() throws {
        #expect(
            try redacted(#" { "a" : 1.50 , "access_token" : "x\"y", "pin":-12e3, "b":[{"Password":"p","ok":null}]} "#)
                == #" { "a" : 1.50 , "access_token" : "REDACTED", "pin":0, "b":[{"Password":"REDACTED","ok":null}]} "#)
        #expect(
            try redacted(#"{"secrets":{"a":["x",1,true,{"b":"y"}]},"c":"d"}"#)
                == #"{"secrets":{"a":["REDACTED",0,true,{"b":"REDACTED"}]},"c":"d"}"#)
        #expect(try redacted(#""token""#) == #""token""#)
        #expect(try redacted(#"{"token":true,"session":null}"#) == #"{"token":true,"session":null}"#)
    }

    @Test(
        "A name below a secret name gets a substitute if it may be a key, and other names stay",
        arguments: [
            (#"{"sessions":{"f81d4fae7dec11d0":{"user":1}}}"#, #"{"sessions":{"REDACTED-000001":{"user":0}}}"#),
            (#"{"api_keys":{"sk_live_51Habc123":"read"}}"#, #"{"api_keys":{"REDACTED-000001":"REDACTED"}}"#),
            (
                #"{"tokens":[{"abcdefabcdefab\u003112":null,"abcdefabcdefab12":{"x":{"abcdefabcdefab13":true}}}]}"#,
                #"{"tokens":[{"REDACTED-000001":null,"REDACTED-000002":{"x":{"REDACTED-000003":true}}}]}"#
            ),
            (
                #"{"tokens":{"abcdefabcdefa1":true,"abcdefghijklmnop1":true,"1234567890123456":true,"address1":true}}"#,
                #"{"tokens":{"abcdefabcdefa1":true,"abcdefghijklmnop1":true,"1234567890123456":true,"address1":true}}"#
            ),
            (
                #"{"value":{"abcdefabcdefab12":1},"name":"pin","abcdefabcdefab13":1}"#,
                #"{"value":{"REDACTED-000001":0},"name":"pin","abcdefabcdefab13":0}"#
            ),
            (#"{"abcdefabcdefab12":1}"#, #"{"abcdefabcdefab12":1}"#),
        ])
    func names(text: String, result: String) throws { #expect(try redacted(text) == result) }

    @Test(
        "The private members of a JSON Web Key are secret, wherever its type stands, and those of other objects are not",
        arguments: [
            (
                #"{"keys":[{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"c"},{"d":"c"}]}"#,
                #"{"keys":[{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"REDACTED"},{"d":"c"}]}"#
            ),
            (
                #"{"n":"a","e":"AQAB","d":"b","p":"c","q":"d","dp":"e","dq":"f","qi":"g","oth":[{"r":"h","d":"i","t":"j"}],"kty":"RSA"}"#,
                #"{"n":"a","e":"AQAB","d":"REDACTED","p":"REDACTED","q":"REDACTED","dp":"REDACTED","dq":"REDACTED","qi":"REDACTED","#
                    + #""oth":[{"r":"REDACTED","d":"REDACTED","t":"REDACTED"}],"kty":"RSA"}"#
            ),
            (#"{"k":"a","kid":"b","kty":"oct"}"#, #"{"k":"REDACTED","kid":"b","kty":"oct"}"#),
            (#"{"k":"a","d":"b","a":{"kty":"EC"}}"#, #"{"k":"a","d":"b","a":{"kty":"EC"}}"#),
        ])
    func webKeys(text: String, result: String) throws { #expect(try redacted(text) == result) }

    @Test("A name that is redacted is not looked for elsewhere, where it may have company, and a name that the app keeps stays")
    func namesElsewhere() throws {
        var secrets: Set<NotedSecret> = []
        let text = #"{"sessions":{"f81d4fae7dec11d0":1,"f81d4fae7dec11d1":2},"seen":{"f81d4fae7dec11d0":1,"f81d4fae7dec11d1":2}}"#
        let names = SecretNames([], keeping: ["f81d4fae7dec11d1"])
        let result = String(decoding: try JSONRedactor.redacted(Array(text.utf8), names, &secrets), as: UTF8.self)
        #expect(result == #"{"sessions":{"REDACTED-000001":0,"f81d4fae7dec11d1":0},"seen":{"f81d4fae7dec11d0":1,"f81d4fae7dec11d1":2}}"#)
        #expect(!secrets.contains(NotedSecret("f81d4fae7dec11d0")))
    }

    @Test("Escapes, letter case and separators do not hide a name")
    func hiddenNames() throws {
        #expect(
            try redacted(#"{"passw\u006frd":"x","API-Key":"y","refreshToken":"z"}"#)
                == #"{"passw\u006frd":"REDACTED","API-Key":"REDACTED","refreshToken":"REDACTED"}"#)
    }

    @Test(
        "A string with a query, a setting or a document that has the name of a secret is replaced as a whole",
        arguments: [
            #"https://b.s3/x?X-Amz-Signature=canary&X-Amz-Security-Token=canary"#, #"https:\/\/api\/x?access_token=canary"#,
            #"{\"password\":\"canary\"}"#, #"{\"passw\u006frd\":\"canary\"}"#, #"<token>canary</token>"#, #"&lt;token>canary"#,
            #"a: b\nX-Api-Key: canary"#, #"postgres://admin:canary@db/x"#, #"Password\u003dcanary"#,
            #"[{\"name\":\"password\",\"value\":\"canary\"}]"#,
            #"body: [{\"name\":\"password\",\"value\":\"canary\"}]"#, #"<param name=\"password\" value=\"canary\"/>"#,
            #"<name>password</name><value>canary</value>"#, #"<input type=\"hidden\" name=\"csrf_token\" value=canary>"#,
            #"<s:a><s:token xml:lang='en'>canary</s:token></s:a>"#, #"https://h/?token[]=canary"#, #"?tokens[0]=canary"#,
            #"?password%5B%5D=canary"#, #"https://h/login?return_to=https%3A%2F%2Fapi%2Fcb%3Faccess_token%3Dcanary1234"#,
            #"a%253Ftoken%253Dcanary"#, #"{\\\"password\\\" : \\\"canary\\\"}"#,
        ])
    func embedded(value: String) throws {
        for (begin, end) in [("{\"a\":\"", "\"}"), ("[\"b\", \"", "\"]"), ("\"", "\"")] {
            let redacted = try redacted(begin + value + end)
            #expect(redacted == begin + "REDACTED" + end)
        }
    }

    @Test("A string whose escapes cannot be read is replaced, because it may hide the name of a secret")
    func unreadable() throws {
        #expect(try redacted(#"["\ud800 token=x", "\x", "a\u0000"]"#) == #"["REDACTED", "REDACTED", "REDACTED"]"#)
    }

    @Test(
        "Other strings stay, with their escapes",
        arguments: [
            "https://api/x?page=2", "the password is secret", #"{\"a\":\"b\"}"#, #"C:\\temp\n<b>&amp;\u00e9 \"x\" \/"#, "a=b: c",
            "at 12:00: see the token", "", "https://api/sessions?page=2", "data:image/png;base64,iVBOR/key/pin+sid/w0KGg==",
            "a <b> c, token", "<token", "token> a", #"{x} \"/session\" \"the token\""#, "100% token", "a\\\\token",
        ])
    func otherStrings(value: String) throws {
        let text = "{\"a\":\"\(value)\"}"
        #expect(try redacted(text) == text)
    }

    @Test(
        "A label announces the values beside it, before and after it, and no others",
        arguments: [
            (#"[{"name":"password","value":"x"}]"#, #"[{"name":"password","value":"REDACTED"}]"#),
            (#"{"value":{"a":["x",7]},"Name":"api-key"}"#, #"{"value":{"a":["REDACTED",0]},"Name":"api-key"}"#),
            (
                #"{"a":"x","l":[{"v":1,"name":"user"},{"v":2,"name":"to\u006ben"}]}"#,
                #"{"a":"x","l":[{"v":1,"name":"user"},{"v":0,"name":"to\u006ben"}]}"#
            ),
            (#"{"key":"token","v":"x"}"#, #"{"key":"REDACTED","v":"REDACTED"}"#),
            (
                #"[{"name":"USB Security Key","id":17},{"name":"Session 1","id":18}]"#,
                #"[{"name":"USB Security Key","id":17},{"name":"Session 1","id":18}]"#
            ),
            (#"{"key":"user","v":"bob"}"#, #"{"key":"REDACTED","v":"bob"}"#),
            (
                #"{"id":1296269,"name":"cookiecutter","url":"https://h/1"}"#, #"{"id":1296269,"name":"cookiecutter","url":"https://h/1"}"#
            ),
            (#"{"name":"Client Secret","Value":"x","id":1}"#, #"{"name":"Client Secret","Value":"REDACTED","id":1}"#),
            (#"{"value":"4711","name":"user.pin"}"#, #"{"value":"REDACTED","name":"user.pin"}"#),
            (#"{"name":"token","id":1,"key":"user"}"#, #"{"name":"token","id":0,"key":"REDACTED"}"#),
            (#"{"type":"password","value":"x","temporary":false}"#, #"{"type":"password","value":"REDACTED","temporary":false}"#),
            (
                #"[{"op":"replace","path":"/user/password","value":"x"}]"#,
                #"[{"op":"replace","path":"/user/password","value":"REDACTED"}]"#
            ),
            (#"{"value":4711,"field":"pin"}"#, #"{"value":0,"field":"pin"}"#),
            (
                #"{"id":"1","type":"session.created","data":{"a":"b"},"text":"c"}"#,
                #"{"id":"1","type":"session.created","data":{"a":"b"},"text":"c"}"#
            ),
            (#"{"name":["password"],"v":"x","b":{"name":" pin "},"c":1}"#, #"{"name":["password"],"v":"x","b":{"name":" pin "},"c":1}"#),
        ])
    func labels(text: String, result: String) throws { #expect(try redacted(text) == result) }

    @Test(
        "Words and numbers that JSON does not have are refused, wherever they are",
        arguments: [
            "hunter2", "+1234", ".5x", ".5", "5.", "1e", "1e+", "01", "-", "-01", "--1", "1.2.3", "1a", "0x10", "True", "nul", "NaN",
            "-Infinity", "truex",
        ])
    func badScalars(text: String) {
        for json in ["{\"password\":\(text)}", "{\"a\":\(text)}", "[1, \(text) ]", text] {
            #expect(throws: JSONRedactor.Malformed.self) { try redacted(json) }
        }
    }

    @Test("Numbers of every form are copied, and replaced below a secret name")
    func numbers() throws {
        for text in ["0", "-0", "10", "-12", "0.5", "1.50", "1e5", "1E+05", "-0.10e-2", "12345678901234567890"] {
            #expect(try redacted("{\"a\":\(text),\"pin\":\(text)}") == "{\"a\":\(text),\"pin\":0}")
        }
    }

    @Test(
        "Text that is not JSON is refused",
        arguments: [
            "", "{", "[", "{\"a\"", "{\"a\":", "{\"a\":1", "\"a", "\"a\\", "{a:1}", "[1,]", "{\"a\":1,}", "[1]x", "<html>", "{\"a\" 1}",
            "\u{FEFF}{}", "{\"\\ud800\":1}", "]",
        ])
    func malformed(text: String) {
        #expect(throws: JSONRedactor.Malformed.self) { try redacted(text) }
    }

    @Test("Secrets before the place where JSON turns out to be malformed are noted")
    func noted() {
        var secrets: Set<NotedSecret> = []
        #expect(throws: JSONRedactor.Malformed.self) {
            try JSONRedactor.redacted(Array(#"{"password":"hunter2-hunter2","a""#.utf8), SecretNames(), &secrets)
        }
        #expect(secrets.map(\.text) == ["hunter2-hunter2"])
    }

    @Test("What a string contains is not noted as a whole, because it could be a document of the other body")
    func structure() throws {
        var secrets: Set<NotedSecret> = []
        let text = #"{"debug":"body {\"pin\":47114711}"}"#
        _ = try JSONRedactor.redacted(Array(text.utf8), SecretNames(), &secrets)
        #expect(secrets.map(\.text) == ["47114711"])
    }

    @Test("Labels in documents inside one another take no more time than other text", .timeLimit(.minutes(1)))
    func nestedDocuments() throws {
        var text = #"[{"name":"pin"}]"#
        for _ in 0..<40 {
            let inner = text.replacing("\\", with: "\\u005c").replacing("\"", with: "\\u0022")
            text = "[{\"name\":\"pin\"},\"\(inner)\"]"
            if text.utf8.count > 1 << 20 { break }
        }
        #expect(try redacted(text) == #"[{"name":"pin"},"REDACTED"]"#)
    }

    @Test("Nesting of a hundred thousand levels is no problem")
    func deep() throws {
        let depth = 100_000
        let text = String(repeating: "[", count: depth) + "{\"token\":\"x\"}" + String(repeating: "]", count: depth)
        #expect(try redacted(text) == text.replacing("\"x\"", with: "\"REDACTED\""))
    }
}
