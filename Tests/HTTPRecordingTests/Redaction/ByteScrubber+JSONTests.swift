import Foundation
import Testing

@testable import HTTPRecording

@Suite struct ByteScrubberJSONTests {
    private func scrubbed(_ text: String, _ secrets: String...) -> String {
        String(decoding: ByteScrubber(Set(secrets.map { NotedSecret($0) })).scrubbed(Array(text.utf8), as: .json), as: UTF8.self)
    }

    @Test("A number with a secret in it becomes 0, and one in a string does not")
    func numbers() {
        #expect(
            scrubbed(
                #"{"a":12345678,"b":[ -12345678,123456789.5,1.12345678e3, 1234567],"c":-1234.5e6,"12345678":"12345678"}"#, "12345678",
                "-1234.5e6")
                == #"{"a":0,"b":[ 0,0,0, 1234567],"c":0,"REDACTED-000001":"REDACTED"}"#)
        #expect(scrubbed(#"{"x":0.1234567,"y":-1e5}"#, ".1234567") == #"{"x":0,"y":-1e5}"#)
        #expect(scrubbed("[12345678,1234]", "12345678", "12345678,1234") == "[0,1234]")
    }

    @Test(
        "JSON stays JSON, whatever a secret has in it",
        arguments: [
            ("48.8584,2.2945", #"{"a":[48.8584,2.2945],"b":"48.8584,2.2945"}"#, #"{"a":[48.8584,2.2945],"b":"REDACTED"}"#),
            (#"{"user":1}"#, #"{"user":1}"#, #"{"user":1}"#),
            (#"abc","def"#, #"["abc","def"]"#, #"["REDACTED","def"]"#),
            ("nabcdefgh", #"["\nabcdefgh","x nabcdefgh"]"#, #"["\nabcdefgh","x REDACTED"]"#),
            ("00e9abcde", #"["\u00e9abcde"]"#, #"["\u00e9abcde"]"#), (#"abcdefg\"#, #"["abcdefg\"x"]"#, #"["REDACTEDx"]"#),
            ("abcdefgh", #"["abcdefgh\\","\\","x"]"#, #"["REDACTED\\","\\","x"]"#),
        ])
    func staysJSON(secret: String, text: String, result: String) throws {
        #expect(scrubbed(text, secret) == result)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(result.utf8)) }
    }

    @Test(
        "A secret that is spelled with escapes is found",
        arguments: [
            ("ab/cd+ef==", #"["ab\/cd+ef==","b"]"#), ("ab/cd+ef==", #"["x ab/cd\u002Bef== y","b"]"#),
            ("abcdefgh", #"["\u0061\u0062cdefgh","b"]"#),
            ("pass\"word1", #"["pass\"word1","b"]"#), ("gr\u{FC}n-blau", #"["gr\u00fcn-blau","b"]"#),
            ("eyJ", #"["\u0065yJhbGciOiJIUzI1NiJ9.e30.c2ln","b"]"#),
            ("ab/cd+ef==1", #"["{\"in\":\"ab\\\/cd+ef==1\"}","b"]"#), ("ab/cd+ef==1", #"["https:\/\/x?y=ab%2Fcd%2bef==1","b"]"#),
            ("Xk%b7/9aQ!zz", #"["bad Xk%b7\/9aQ!zz","b"]"#), ("100%-ab%41/xyz", #"["bad 100%-ab%41\/xyz","b"]"#),
            (#"ab\/cdefgh1"#, #"["bad ab\\/cdefgh1","b"]"#),
            ("R&lt;D/2024xx", #"["bad R&lt;D\/2024xx","b"]"#), ("R&lt;D/2024xx", #"["bad R&amp;lt;D/2024xx","b"]"#),
            (#"pa"ss\word1!x"#, #"["{\"message\":\"bad pa\\\"ss\\\\word1!x\"}","b"]"#), ("my own dog12", #"["x?y=my+own+dog12","b"]"#),
            ("my own dog!", #"["x?y=my+own%20dog%21","b"]"#), ("a+b cdefg", #"["x?y=a%2Bb+cdefg","b"]"#),
            ("a+b cdefg", #"["https%3A%2F%2Fh%2F%3Fy%3Da%252Bb%2Bcdefg","b"]"#), ("a+b%cdefg", #"["y=a%2Bb%25cdefg","b"]"#),
            ("a\u{1F600}bcdefg", #"["a\ud83d\ude00bcdefg","b"]"#), ("abcdefgh", #"["a \ud83d abcdefgh","b"]"#),
        ])
    func escapes(secret: String, text: String) { #expect(scrubbed(text, secret) == #"["REDACTED","b"]"#) }

    @Test("A secret whose beginning is another secret leaves nothing of its end, however it is spelled")
    func beginnings() {
        #expect(scrubbed(#"["bad Abcdefg1\u0026Xyz98765"]"#, "Abcdefg1", "Abcdefg1&Xyz98765") == #"["REDACTED"]"#)
        #expect(scrubbed(#"["bad Abcdefg1\u0026Xyz98765"]"#, "Abcdefg1") == #"["bad REDACTED\u0026Xyz98765"]"#)
    }

    @Test("Names of members with secrets in them stay apart from each other, and from those that were numbered before")
    func names() {
        #expect(
            scrubbed(#"{"abcdefgh":1,"x abcdefgh" : 2,"\u0061bcdefgh":3,"ijklmnop":"abcdefgh","b":4}"#, "abcdefgh", "ijklmnop")
                == #"{"REDACTED-000001":1,"REDACTED-000002" : 2,"REDACTED-000003":3,"REDACTED-000004":"REDACTED","b":4}"#)
        #expect(
            scrubbed(#"{"REDACTED-00000a":1,"REDACTED-000002":2,"abcdefgh":3,"RREDACTED":4}"#, "abcdefgh")
                == #"{"REDACTED-00000a":1,"REDACTED-000002":2,"REDACTED-00000b":3,"RREDACTED":4}"#)
    }

    @Test("What stands around a secret stays, if it can be found as it is spelled")
    func around() {
        #expect(scrubbed(#"["a\n\"abcdefgh\"\u002B","abcdefgh\/x"]"#, "abcdefgh") == #"["a\n\"REDACTED\"\u002B","REDACTED\/x"]"#)
    }
}
