import ApproovTesting
import Foundation
import HTTPClient
import TestTags
import Testing

@testable import Approov

@Suite struct ApproovBytesLinesTests {
    /// A body that comes in parts of the given size.
    private static func bytes(_ text: String, parts size: Int) -> ApproovBytes {
        let bytes = Array(text.utf8)
        return ApproovBytes(
            ResponseBody(
                AsyncStream<[UInt8]> { feed in
                    for start in stride(from: 0, to: bytes.count, by: size) {
                        feed.yield(Array(bytes[start..<min(start + size, bytes.count)]))
                    }
                    feed.finish()
                }))
    }

    private static func lines(_ text: String, parts size: Int = .max / 2, upTo limit: Int = 100) async throws -> [String] {
        var lines: [String] = []
        for try await line in bytes(text, parts: size).lines(upTo: limit) { lines.append(line) }
        return lines
    }

    @Test("Lines end with LF, CR or CRLF, wherever the parts of the body end", arguments: [1, 2, 3, 5, 1_000])
    func ends(size: Int) async throws {
        #expect(try await Self.lines("one\ntwo\rthree\r\n\r\n\n\rfour", parts: size) == ["one", "two", "three", "", "", "", "four"])
        #expect(try await Self.lines("one\n", parts: size) == ["one"])
        #expect(try await Self.lines("one\r\n", parts: size) == ["one"])
        #expect(try await Self.lines("", parts: size) == [])
        #expect(try await Self.lines("\n", parts: size) == [""])
        #expect(try await Self.lines("grün\u{2028}weiß\n", parts: size) == ["grün\u{2028}weiß"])
    }

    @Test("A line is handed out before the next byte has come")
    func promptness() async throws {
        let (parts, feed) = AsyncStream.makeStream(of: [UInt8].self)
        var lines = ApproovBytes(ResponseBody(parts)).lines.makeAsyncIterator()
        for end in ["\r", "\n", "\r\n"] {
            feed.yield(Array("line\(end)".utf8))
            #expect(try await lines.next() == "line")
        }
        feed.finish()
    }

    @Test("A line that is longer than the limit fails, also without an end, and the sequence then ends", arguments: [1, 7, 1_000])
    func limit(size: Int) async throws {
        let fits = String(repeating: "x", count: 100)
        #expect(try await Self.lines(fits + "\n" + fits, parts: size) == [fits, fits])
        await #expect(throws: ApproovError(.responseTooLarge, "")) { try await Self.lines(fits + "x\n", parts: size) }
        await #expect(throws: ApproovError(.responseTooLarge, "")) { try await Self.lines(fits + "x", parts: size) }
        var lines = Self.bytes(fits + "x\nnext\n", parts: size).lines(upTo: 100).makeAsyncIterator()
        await #expect(throws: ApproovError.self) { try await lines.next() }
        #expect(try await lines.next() == nil)
    }

    @Test("Bytes that are not UTF-8 become replacement characters, and a failure of the transfer is an error of the SDK")
    func badBytes() async throws {
        let broken = ApproovBytes(
            ResponseBody(
                AsyncThrowingStream<[UInt8], any Error> { feed in
                    feed.yield([0xFF, 0x61, 0x0A, 0x62])
                    feed.finish(throwing: TransportError(.connectionLost, "reset"))
                }))
        var lines = broken.lines.makeAsyncIterator()
        #expect(try await lines.next() == "\u{FFFD}a")
        await #expect(throws: ApproovError(.networkingError, "")) { try await lines.next() }
    }
}
