import Foundation
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct RecordingNameTests {
    @Test(
        "Whatever the URL has, the name is one plain file name of at most 100 bytes",
        arguments: [
            "https://api.test/../../etc/passwd", "https://api.test/%2e%2e%2f%00", "https://api.test/..;/....//",
            "https://[::1]:8080/.hidden",
            "https://api.test/" + String(repeating: "a", count: 60_000), "https://api.test/~user/*?x=../..", "https://api.test/a\\b|c&d`e$",
        ])
    func hostile(url: String) {
        let name = RecordingName.stem(number: 12, method: .get, url: url)
        #expect(name.hasPrefix("0012-GET-") && name.utf8.count <= 100 && !name.contains("..") && !name.hasSuffix("."))
        #expect(name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "-") })
    }

    @Test("The name shows method, host and path, and differs for queries")
    func readable() throws {
        let name = RecordingName.stem(number: 7, method: .post, url: "https://api.test/v1/items?page=1")
        #expect(name.hasPrefix("0007-POST-api.test-v1-items-"))
        #expect(name != RecordingName.stem(number: 7, method: .post, url: "https://api.test/v1/items?page=2"))
        let odd = try #require(HTTPRequest.Method("X..*Y"))
        #expect(RecordingName.stem(number: 7, method: odd, url: "https://api.test/").hasPrefix("0007-X.-Y-api.test-"))
    }

    @Test("Only the names of recordings have a number")
    func numbers() {
        #expect(RecordingName.number(in: "0012-GET-x.json") == 12 && RecordingName.number(in: "9999-x.body") == 9_999)
        for name in [
            "12-x.json", "0012.json", "x-0012.json", "99999999999999999999-x.json", "12345-x.body", "20240101-notes.txt",
            "20240101-notes.json", "2024-notes.txt", "0012-x", "",
        ] { #expect(RecordingName.number(in: name) == nil) }
    }
}
