import ApproovTesting
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import TestTags
import Testing

@testable import Approov

@Suite struct ServerSentEventsTests {
    private static func events(_ text: String, upTo limit: Int = 1_000) async throws -> [ServerSentEvent] {
        let bytes = Array(text.utf8)
        var seen: [[ServerSentEvent]] = []
        // The events are the same wherever the parts of the body end.
        for size in [bytes.count + 1, 1, 3] {
            let body = ResponseBody(
                AsyncStream<[UInt8]> { feed in
                    for start in stride(from: 0, to: bytes.count, by: size) {
                        feed.yield(Array(bytes[start..<min(start + size, bytes.count)]))
                    }
                    feed.finish()
                })
            var events: [ServerSentEvent] = []
            for try await event in ApproovBytes(body).events(upTo: limit) { events.append(event) }
            seen.append(events)
        }
        #expect(seen[0] == seen[1] && seen[1] == seen[2])
        return seen[0]
    }

    private static func event(_ data: String, _ event: String = "message", id: String = "", retry: Duration? = nil) -> ServerSentEvent {
        ServerSentEvent(event: event, data: data, id: id, retry: retry)
    }

    @Test("The examples of the HTML standard give the events that it promises")
    func examples() async throws {
        #expect(try await Self.events("data: YHOO\ndata: +2\ndata: 10\n\n") == [Self.event("YHOO\n+2\n10")])
        #expect(
            try await Self.events(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n")
                == [Self.event("first event", id: "1"), Self.event("second event")])
        #expect(try await Self.events("data\n\ndata\ndata\n\ndata:") == [Self.event(""), Self.event("\n")])
        #expect(try await Self.events("data:test\n\ndata: test\n\n") == [Self.event("test"), Self.event("test")])
        #expect(
            try await Self.events("event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n")
                == [Self.event("73857293", "add"), Self.event("2153", "remove")])
    }

    @Test("The iterator knows the ID and the pause of a block without data, but not the ID of one that the end cuts off")
    func blocksWithoutData() async throws {
        for (text, id, retry) in [
            ("data: a\nid: 1\n\nid: 2\n\n", "2", nil), ("data: a\nid: 1\n\nretry: 3000\n\n", "1", Duration.seconds(3)),
            ("data: a\nid: 1\n\nid: 2\n", "1", nil), ("data: a\nid: 1\n\nid\n\n", "", nil),
        ] {
            let body = ResponseBody(bytes: Array(text.utf8))
            var events = ApproovBytes(body).events().makeAsyncIterator()
            #expect(events.lastEventID.isEmpty && events.retry == nil)
            #expect(try await events.next()?.id == "1" && events.lastEventID == "1")
            #expect(try await events.next() == nil && events.lastEventID == id && events.retry == retry, "\(text)")
        }
    }

    @Test("Lines end with LF, CR or CRLF, and a byte order mark at the start is ignored")
    func ends() async throws {
        for end in ["\n", "\r", "\r\n"] {
            let text = ["\u{FEFF}data: one", "", "\u{FEFF}data: not a field", "data: two", "", ""].joined(separator: end)
            #expect(try await Self.events(text) == [Self.event("one"), Self.event("two")])
        }
    }

    @Test("An ID lasts until the next one, an ID with NULL is ignored, and so is a retry that is not a number")
    func fields() async throws {
        #expect(
            try await Self.events("id: 1\ndata: a\n\ndata: b\n\nid: 2\0\ndata: c\n\n")
                == [Self.event("a", id: "1"), Self.event("b", id: "1"), Self.event("c", id: "1")])
        #expect(
            try await Self.events("retry: 1500\n\ndata: a\nretry: -1\nretry: 1e3\nretry:\nretry: 99999999999999999999\n\n")
                == [Self.event("a", retry: .milliseconds(1_500))])
        // A blank line without data ends no event, and the type does not last.
        #expect(try await Self.events("event: lost\n\ndata: a\n\nunknown: x\nData: x\n\n") == [Self.event("a")])
    }

    @Test("An event that the end cuts off is not returned")
    func cutOff() async throws {
        #expect(try await Self.events("data: a\n\ndata: b\n") == [Self.event("a")])
        #expect(try await Self.events("data: a\n\ndata: b") == [Self.event("a")])
        #expect(try await Self.events("data: a") == [])
        #expect(try await Self.events("") == [])
    }

    @Test("An event that is larger than the limit fails, whether it is one line, many lines or a type")
    func limit() async throws {
        let long = String(repeating: "x", count: 90)
        #expect(try await Self.events("data:\(long)\n\ndata:\(long)\n\n", upTo: 100).count == 2)
        for text in [
            "data:\(long)xxxxxxxx\n\n", "data:\(long)\ndata:\(long)\n\n", "event:\(long)\ndata:\(long)\n\n",
            String(repeating: "data\n", count: 101) + "\n", ":\(long)\(long)\n\n", "\(long)\(long)",
        ] {
            await #expect(throws: ApproovError(.responseTooLarge, "")) { try await Self.events(text, upTo: 100) }
        }
    }

    @Test("Events of a server arrive one by one, and cancelling ends the request", .tags(.sockets))
    func server() async throws {
        let (next, seen) = (AsyncStream.makeStream(of: Int.self), Shared(0))
        let site = try await Site.start { _ in
            TestResponse(headerFields: [.contentType: "text/event-stream"], length: nil) { number in
                var iterator = next.stream.makeAsyncIterator()
                guard await iterator.next() != nil else { return nil }
                return Array("id: \(number)\ndata: event \(number)\n\n".utf8)
            }
        }
        let session = try site.session()
        let task = Task {
            let (bytes, head) = try await session.bytes(from: site.url("/events"))
            #expect(head.value(forHTTPHeaderField: "Content-Type") == "text/event-stream")
            for try await event in bytes.events() {
                #expect(event.data == "event \(event.id)")
                seen.change { $0 += 1 }
            }
        }
        for number in 0..<5 {
            next.continuation.yield(number)
            #expect(await eventually { seen.value == number + 1 })
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        next.continuation.finish()
        await site.stop()
    }
}
