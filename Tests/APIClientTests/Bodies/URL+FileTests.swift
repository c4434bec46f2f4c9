import Foundation
import Testing

@testable import APIClient

@Suite struct URLFileTests {
    @Test(
        "A URL that names another machine, or whose path would become another one when it is decoded, is refused",
        arguments: [
            "file:///etc/passwd%00.jpg", "file:///up/..%2F..%2Fetc%2Fpasswd", "file:///up/..%2f..%2fetc%2fpasswd",
            "file://evil.example/etc/passwd", "https://api.example.com/etc/passwd",
        ])
    func refused(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(code { try url.pathOfFile() } == .invalidBody)
        #expect(code { try RawBody(file: url, contentType: "image/jpeg") } == .invalidBody)
        #expect(code { try FormPart.Content.file(url, type: "image/jpeg") } == .invalidBody)
    }

    @Test("The path of a file on this machine is decoded, and percent signs of its name stay")
    func accepted() throws {
        for (text, path) in [
            ("file:///up/a%20cat.jpg", "/up/a cat.jpg"), ("file://localhost/up/cat.jpg", "/up/cat.jpg"), ("file:///up/%2500", "/up/%00"),
        ] {
            #expect(try #require(URL(string: text)).pathOfFile() == path)
        }
        #expect(try URL(filePath: "/up/100%2F").pathOfFile() == "/up/100%2F")
    }
}
