import APIClient
import Foundation
import Testing

// Acceptance list: S2.44
@Suite struct FormBodyTests {
    @Test("A form has its media type, plus signs for spaces, and names that may repeat")
    func form() throws {
        let form: FormBody = ["grant_type": "refresh_token", "scope": "cats & dogs", "a": ["1", "2"], "a": "*-._é'+"]
        let content = try form.serialize()
        #expect(content.contentType == "application/x-www-form-urlencoded" && content.headers.isEmpty)
        #expect(content.body.text == "grant_type=refresh_token&scope=cats+%26+dogs&a=1&a=2&a=*-._%C3%A9%27%2B")
    }

    @Test("A form takes any format, and refuses what the format cannot express")
    func formats() throws {
        #expect(try FormBody(["a": ["b": [1]]], format: QueryFormat()).serialize().body.text == "a%5Bb%5D%5B0%5D=1")
        #expect(code { try FormBody(["a": [["b"]]]).serialize() } == .invalidQuery)
        #expect(code { try FormBody(["a": .bytes([UInt8](repeating: 0, count: 6 << 20))]).serialize() } == .invalidQuery)
    }
}
