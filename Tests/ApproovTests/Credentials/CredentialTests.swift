import Approov
import ApproovTesting
import Testing

// Acceptance list: S2.7, S3.17
@Suite struct CredentialTests {
    @Test("A bearer token and a name with a password become the values that RFC 6750 and RFC 7617 show")
    func values() throws {
        #expect(try Credential.bearer("mF_9.B5f-4.1JqM").headerValue == "Bearer mF_9.B5f-4.1JqM")
        #expect(try Credential.basic(user: "Aladdin", password: "open sesame").headerValue == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(try Credential.basic(user: "test", password: "123\u{A3}").headerValue == "Basic dGVzdDoxMjPCow==")
    }

    @Test(
        "Control characters, spaces in a token and a colon in a name are refused",
        arguments: ["", "a b", "a\r\nX: y", "a\u{0}", "\u{7F}", "ä", " "])
    func refused(_ text: String) {
        #expect(code(as: ApproovError.self) { try Credential.bearer(text) } == .credentialRefused)
        #expect(code(as: ApproovError.self) { try Credential.basic(user: "a:b", password: text) } == .credentialRefused)
        #expect(code(as: ApproovError.self) { try Credential.basic(user: "a", password: text + "\n") } == .credentialRefused)
    }

    @Test("Neither the description nor the error of a credential shows its value")
    func hidden() throws {
        let credential = try Credential.bearer("sesame")
        var dumped = ""
        dump(credential, to: &dumped)
        for text in ["\(credential)", String(reflecting: credential), dumped] { #expect(!text.contains("sesame")) }
        #expect("\(credential)" == "Credential(Bearer)")
        for value in ["sesame", "sid=sesame; theme=dark", "sesame word", "bearer=sesame x"] {
            #expect("\(try Credential(headerValue: value))" == "Credential(hidden)")
        }
        let error = #expect(throws: ApproovError.self) { try Credential.bearer("sesame\n") }
        #expect(error.map { !"\($0)".contains("sesame") } == true)
    }
}
