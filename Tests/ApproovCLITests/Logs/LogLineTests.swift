import Foundation
import Logging
import Testing

@testable import ApproovCLI

@Suite struct LogLineTests {
    private func line(_ message: String, _ metadata: Logger.Metadata = [:]) -> LogLine {
        LogLine(
            date: Date(timeIntervalSince1970: 1_800_000_000.25), level: .notice, label: "approov.test", message: message, metadata: metadata
        )
    }

    private func object(_ line: LogLine) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(line.json.utf8)) as? [String: Any])
    }

    @Test("A text line has the time, level, label, message and sorted metadata, quoted if it has spaces")
    func text() {
        #expect(
            line("it happened", ["z": "1", "a": "two words", "empty": "", "list": ["x", "y"]]).text
                == #"2027-01-15T08:00:00.250Z notice approov.test: it happened a="two words" empty="" list=["x","y"] z=1"#)
    }

    @Test("A JSON line has the same fields as members, and metadata cannot replace them")
    func json() throws {
        let object = try object(line("it happened", ["level": "mine", "arc": "AB", "nested": ["k": ["v"]]]))
        #expect(object["timestamp"] as? String == "2027-01-15T08:00:00.250Z")
        #expect(object["level"] as? String == "notice" && object["label"] as? String == "approov.test")
        #expect(object["message"] as? String == "it happened" && object["arc"] as? String == "AB")
        #expect(object["level_"] as? String == "mine")
        #expect(object["nested"] as? [String: [String]] == ["k": ["v"]])
    }

    @Test(
        "Line breaks and control characters in a text never begin another line",
        arguments: ["a\nb", "a\r\nb", "a\u{2028}b", "a\u{85}b", "a\u{0}b\u{1b}[31m", "a\"b\\c"])
    func oneLine(text: String) throws {
        let line = line(text, ["key": "\(text)", "\(text)": "v"])
        for written in [line.text, line.json] {
            #expect(!written.contains(where: \.isNewline) && !written.utf8.contains { $0 < 0x20 }, "\(written.debugDescription)")
        }
        let object = try object(line)
        if !text.contains(where: \.isNewline) { #expect(object["message"] as? String == text && object["key"] as? String == text) }
    }

    @Test("A value that is too long is cut")
    func long() {
        let line = line("m", ["dump": "\(String(repeating: "x", count: 1_000_000))"])
        #expect(line.text.utf8.count < 3_000 && line.json.utf8.count < 3_000)
    }
}
