import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import Testing

@testable import HTTPRecording

@Suite struct RecordingWriterTests {
    @Test("An exchange whose head cannot be written leaves no body, and gives its room back")
    func noHead() throws {
        let folder = try TemporaryFolder()
        let exchange = RecordedExchange(
            method: .get, url: "https://api.test/", status: 200, version: "HTTP/1.1", responseLines: [])
        // Room for one head with the name of its body, which the first attempt must not keep.
        var limits = RecordingLimits()
        limits.maximumTotalBytes = try 2 * exchange.serialized().count
        let writer = try RecordingWriter(folder.url, limits)
        let name = RecordingName.stem(number: 1, method: .get, url: exchange.url) + RecordingName.headSuffix
        let taken = folder.url.appending(path: name)
        try Data().write(to: taken)
        #expect(throws: TransportError(.recordingFailed, "")) { try writer.write(exchange, body: Array("body".utf8), number: 1) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [name])
        try FileManager.default.removeItem(at: taken)
        try writer.write(exchange, body: Array("body".utf8), number: 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == 2)
    }

    @Test("The heads that are in a folder count, also if they have one number, and bodies do not")
    func heads() throws {
        let folder = try TemporaryFolder()
        for name in ["0001-a.json", "0001-b.json", "0001-a.body", "0002-c.body"] { try folder.write("", to: name) }
        var limits = RecordingLimits()
        limits.maximumExchanges = 2
        let full = try RecordingWriter(folder.url, limits)
        #expect(throws: TransportError(.recordingFailed, "")) { try full.number() }
        limits.maximumExchanges = 3
        #expect(try RecordingWriter(folder.url, limits).number() == 3)
    }

    @Test("What is written counts, and not what arrived, if redaction makes a body longer or shorter")
    func writtenBytes() throws {
        let folder = try TemporaryFolder()
        let exchange = RecordedExchange(method: .get, url: "https://api.test/", status: 200, version: "HTTP/1.1", responseLines: [])
        var limits = RecordingLimits()
        limits.maximumTotalBytes = 1_000
        let writer = try RecordingWriter(folder.url, limits)
        let long = [UInt8](repeating: 0x61, count: 1_000)
        #expect(try writer.number() == 1)
        try writer.reserve(10, after: 0)
        #expect(throws: TransportError(.recordingFailed, "")) { try writer.write(exchange, body: long, number: 1, reserved: 10) }
        #expect(try folder.names.isEmpty)
        writer.giveUp(1, bytes: 10)
        // The room that a shorter body does not need is there for the next one.
        #expect(try writer.number() == 1)
        try writer.reserve(1_000, after: 0)
        try writer.write(exchange, body: [0x61], number: 1, reserved: 1_000)
        try writer.reserve(300, after: 0)
        #expect(try folder.names.count == 2)
    }

    @Test("A head or a body that no replay could read is refused, and leaves no file")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let writer = try RecordingWriter(folder.url, RecordingLimits())
        var exchange = RecordedExchange(method: .get, url: "https://api.test/", status: 200, version: "HTTP/1.1", responseLines: [])
        let body = [UInt8](repeating: 0x61, count: RecordingFolder.maximumBodyBytes + 1)
        #expect(throws: TransportError(.recordingFailed, "")) { try writer.write(exchange, body: body, number: 1) }
        exchange.url = "https://api.test/" + String(repeating: "a", count: 70_000)
        #expect(throws: TransportError(.recordingFailed, "")) { try writer.write(exchange, body: [], number: 1) }
        #expect(try folder.names.isEmpty)
    }
}
