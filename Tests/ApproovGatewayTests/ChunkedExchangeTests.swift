import ApproovTesting
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization
import TestTags
import Testing

@testable import ApproovGateway

/// Requests that are encapsulated in chunks, over real sockets.
@Suite(.tags(.sockets, .slow), .timeLimit(.minutes(5))) struct ChunkedExchangeTests {
    @Test(
        "A chunked request is answered, with content and without", arguments: ["", "hello", String(repeating: "x", count: 100_000)])
    func answers(content: String) async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            let isFramed = request.headerFields[.contentLength] != nil || request.headerFields[.transferEncoding] != nil
            #expect(isFramed == !content.isEmpty)
            return TestResponse(body: Array("\(request.method) \(request.target) ".utf8) + (try await request.body.collect()))
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let method: HTTPRequest.Method = content.isEmpty ? .get : .put
            let answer = try await gateway.askInChunks(.to("\(target.url)/a?b", method: method), body: content)
            #expect(answer.head.status == .ok)
            #expect(answer.text == "\(method) /a?b \(content)")
        }
        await target.stop()
    }

    @Test("The target gets the stated Content-Length, and content of another length never reaches it as complete", arguments: [5, 4, 6])
    func contentLength(stated: Int) async throws {
        let whole = Mutex(0)
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            #expect(request.headerFields[.contentLength] == "\(stated)" && request.headerFields[.transferEncoding] == nil)
            let content = try await request.body.collect()
            whole.withLock { $0 += 1 }
            return TestResponse(body: content)
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let head = try HTTPRequest.to(target.url, method: .post, fields: [.contentLength: "\(stated)"])
            if stated == 5 {
                #expect(try await gateway.askInChunks(head, body: "hello").text == "hello")
            } else {
                #expect(try await gateway.askInChunks(head, body: "hello").head.status == .badRequest)
            }
        }
        #expect(whole.withLock { $0 } == (stated == 5 ? 1 : 0))
        await target.stop()
    }

    @Test("Both directions stream: a response begins while its request still continues")
    func streams() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            let (stream, source) = AsyncThrowingStream.makeStream(of: [UInt8].self)
            Task {
                do {
                    for try await part in request.body { source.yield(part) }
                    source.finish()
                } catch {
                    source.finish(throwing: error)
                }
            }
            return TestResponse(length: nil) { _ in
                var iterator = stream.makeAsyncIterator()
                return try await iterator.next()
            }
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let request = try await gateway.keys().preferred().chunkedRequest()
            var sealer = request.sealer
            var encoder = BinaryHTTPRequestEncoder()
            let (parts, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield(try sealer.seal(encoder.head(.to(target.url, method: .post))))
            source.yield(try sealer.seal(encoder.body(Data("one".utf8))))
            let response = try await gateway.send(.stream(length: nil, RequestBodyStream(parts)), type: OHTTPMediaType.chunkedRequest)
            var reader = ChunkedAnswer(response, request.response)
            #expect(try await reader.nextBody() == "one")
            source.yield(try sealer.seal(encoder.body(Data("two".utf8))))
            #expect(try await reader.nextBody() == "two")
            source.yield(try sealer.finish(encoder.end()))
            source.finish()
            #expect(try await reader.nextBody() == nil)
        }
        await target.stop()
    }

    @Test("An early response reaches a client that keeps sending for longer than the idle timeout", arguments: [true, false])
    func early(isForwarded: Bool) async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        }
        let url = isForwarded ? "http://127.0.0.1:\(target.port)" : "http://127.0.0.1:1"
        try await RunningGateway.with(
            allow: ["http://127.0.0.1:\(target.port)"], limits: { $0.idleTimeout = .seconds(6) }
        ) { (gateway) async throws in
            let request = try await gateway.keys().preferred().chunkedRequest()
            var sealer = request.sealer
            var encoder = BinaryHTTPRequestEncoder()
            var messages = [try sealer.seal(encoder.head(.to(url, method: .post)))]
            for _ in 0..<28 { messages.append(try sealer.seal(encoder.body(Data("part".utf8)))) }
            messages.append(try sealer.finish(encoder.end()))
            let rest = Mutex(messages[...])
            let parts = AsyncStream<[UInt8]> {
                // All parts together take seven and a half seconds. The time is real, because connections are idle by the clock of their
                // event loops. A part comes 24 times in each idle timeout, so a busy machine may be late by much.
                try? await Task.sleep(for: .milliseconds(250))
                return rest.withLock { $0.popFirst() }
            }
            let response = try await gateway.send(.stream(length: nil, RequestBodyStream(parts)), type: OHTTPMediaType.chunkedRequest)
            var reader = ChunkedAnswer(response, request.response)
            let text = try await reader.nextBody()
            #expect(isForwarded ? text == "no" : text?.contains("403") == true)
            #expect(try await reader.nextBody() == nil)
            #expect(rest.withLock { $0.isEmpty })
        }
        await target.stop()
    }

    @Test("A truncated request never reaches its target as complete, and the client gets an encapsulated 400")
    func truncated() async throws {
        let whole = Mutex(0)
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            _ = try await request.body.collect()
            whole.withLock { $0 += 1 }
            return TestResponse()
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let sealed = try await gateway.chunkedMessage(.to(target.url, method: .post), body: "hello")
            let answer = try await gateway.post(Array(sealed.message.dropLast(20)), type: OHTTPMediaType.chunkedRequest)
            #expect(answer.status == 200)
            var opener = sealed.opener
            opener.append(answer.body)
            var bytes = Data()
            while let part = try opener.next() { bytes.append(part) }
            bytes.append(try opener.finish())
            #expect(try BinaryHTTPResponse(decoding: bytes).head.status == .badRequest)
        }
        #expect(whole.withLock { $0 } == 0)
        await target.stop()
    }

    @Test("A chunked message that is cut or changed within its first 56 bytes gets the unknown-key response")
    func unopened() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse() }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let message = try await gateway.chunkedMessage(.to(target.url)).message
            for length in 0..<56 {
                let answer = try await gateway.post(Array(message.prefix(length)), type: OHTTPMediaType.chunkedRequest)
                #expect(answer.refusal == .unknownKey, "\(length)")
            }
            for index in 0..<56 {
                var changed = message
                changed[index] ^= 1
                #expect(try await gateway.post(changed, type: OHTTPMediaType.chunkedRequest).refusal == .unknownKey, "\(index)")
            }
            #expect(try await gateway.post(message).refusal == .unknownKey)
        }
        #expect(target.counters.requests == 0)
        await target.stop()
    }

    @Test("A first chunk that is too large gets 413 with the allowed size, and a later one an encapsulated 413")
    func chunkTooLarge() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            _ = try await request.body.collect()
            return TestResponse()
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let request = try await gateway.keys().preferred().chunkedRequest()
            var sealer = request.sealer
            var encoder = BinaryHTTPRequestEncoder()
            let start = try sealer.seal(encoder.head(.to(target.url, method: .post)))
            // The length of a chunk is a varint of four bytes (RFC 9000, section 16): one byte above 65,536 and the tag.
            let size = ChunkedRequestReader.chunkBytes + 17
            let length = [0x80 | UInt8(size >> 24), UInt8(size >> 16 & 0xff), UInt8(size >> 8 & 0xff), UInt8(size & 0xff)]
            let large = length + [UInt8](repeating: 0, count: size)
            // Seven bytes of header, then the encapsulated X25519 key.
            let first = try await gateway.post(Array(start.prefix(7 + 32)) + large, type: OHTTPMediaType.chunkedRequest)
            #expect(first.status == 413 && first.headers[.contentType] == "application/problem+json")
            let outside = String(decoding: first.body, as: UTF8.self)
            #expect(outside.contains("chunk-too-large") && outside.contains("at most 65536 bytes"), "\(outside)")
            #expect(gateway.counts == ["refused": 1])

            let response = try await gateway.send(.bytes(start + large), type: OHTTPMediaType.chunkedRequest)
            let inside = try await Self.opened(response, request.response)
            #expect(inside.head.status == .contentTooLarge)
            #expect(inside.text == outside)
            #expect(gateway.counts == ["refused": 1, "malformed": 1])
        }
        await target.stop()
    }

    @Test("A replayed chunked request is served once, and its date and target are checked like a whole request's")
    func judged() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            let message = try await gateway.chunkedMessage(.to(target.url)).message
            #expect(try await gateway.post(message, type: OHTTPMediaType.chunkedRequest).status == 200)
            #expect(try await gateway.post(message, type: OHTTPMediaType.chunkedRequest).refusal == .unknownKey)
            #expect(target.counters.requests == 1)
            let late = try await gateway.askInChunks(.to(target.url, fields: [.date: "Sun, 06 Nov 1994 08:49:37 GMT"]))
            #expect(late.text.contains(OHTTPProblemType.date))
            #expect(try await gateway.askInChunks(.to("http://127.0.0.1:1/")).head.status == .forbidden)
        }
        #expect(target.counters.requests == 1)
        await target.stop()
    }

    @Test("A response that the target breaks off fails at the client instead of ending as if complete")
    func half() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\nhalf")
            for await _ in gate.stream { break }
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url]) { (gateway) async throws in
            let sealed = try await gateway.chunkedMessage(.to(url))
            let response = try await gateway.send(.bytes(sealed.message), type: OHTTPMediaType.chunkedRequest)
            var answer = ChunkedAnswer(response, sealed.opener)
            let first = try await answer.nextBody()
            #expect(first == "half")
            gate.continuation.yield()
            do {
                while try await answer.nextBody() != nil {}
                Issue.record("the response ended as if it were complete")
            } catch is TransportError {}
        }
        await target.stop()
    }

    @Test("A short response with a known length is sent as one chunk, even if it arrives slowly")
    func slow() async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            try await Task.sleep(for: .milliseconds(200))
            try await connection.send("world")
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url]) { (gateway) async throws in
            #expect(try await seen(gateway, .to(url)).lengths == [1_024 + 16])
        }
        await target.stop()
    }

    @Test("A response that breaks off before any of it was sent becomes an encapsulated 502 of the usual length")
    func brokenEarly() async throws {
        let target = try await RawServer.start { connection in
            _ = try await connection.receiveHead()
            try await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        }
        let url = "http://127.0.0.1:\(target.port)"
        try await RunningGateway.with(allow: [url], time: ManualClock()) { (gateway) async throws in
            let answer = try await gateway.askInChunks(.to(url))
            #expect(answer.head.status == .badGateway && !answer.text.contains("half"))
            #expect(try await seen(gateway, .to(url)).lengths == [1_024 + 16])
        }
        await target.stop()
    }

    @Test("A chunked response of 4 MiB passes, although the limit for whole responses is 64 KiB")
    func large() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in
            TestResponse(length: nil) { $0 < 64 ? [UInt8](repeating: 7, count: 65_536) : nil }
        }
        try await RunningGateway.with(allow: [target.url], limits: { $0.messageBytes = 65_536 }) { (gateway) async throws in
            #expect(try await gateway.askInChunks(.to(target.url)).body.count == 64 * 65_536)
        }
        await target.stop()
    }

    @Test(
        "A client's probe for chunked support gets a small encapsulated 400, each time it is sent"
    )
    func question() async throws {
        try await RunningGateway.with(allow: ["http://127.0.0.1:1"], time: ManualClock()) { (gateway) async throws in
            let request = try await gateway.keys().preferred().chunkedRequest()
            let message = try request.sealer.finish([UInt8](repeating: 0x3f, count: 1_024))
            for _ in 0..<2 {
                let answer = try await gateway.post(message, type: OHTTPMediaType.chunkedRequest)
                #expect(answer.status == 200 && chunkLengths(of: answer.body, after: 16) == [1_024 + 16])
            }
            let response = try await gateway.send(.bytes(message), type: OHTTPMediaType.chunkedRequest)
            #expect(try await Self.opened(response, request.response).head.status == .badRequest)
        }
    }

    @Test("A chunked message over its limit gets 413, which is encapsulated if the message announced no length")
    func requestTooLarge() async throws {
        let whole = Mutex(0)
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            let count = try await request.body.collect().count
            whole.withLock { $0 += 1 }
            return TestResponse(text: "\(count)")
        }
        try await RunningGateway.with(allow: [target.url], limits: { $0.chunkedMessageBytes = 100_000 }) { (gateway) async throws in
            let type = OHTTPMediaType.chunkedRequest
            #expect(try await gateway.post([UInt8](repeating: 0, count: 100_001), type: type).status == 413)
            let head = try HTTPRequest.to(target.url, method: .post)
            #expect(try await gateway.askInChunks(head, body: String(repeating: "a", count: 99_000)).text == "99000")

            // Without a length the gateway opens the message up to the limit, and encapsulates its answer.
            let sealed = try await gateway.chunkedMessage(head, body: String(repeating: "a", count: 100_000))
            let (parts, source) = AsyncStream.makeStream(of: [UInt8].self)
            source.yield(sealed.message)
            source.finish()
            let response = try await gateway.send(.stream(length: nil, RequestBodyStream(parts)), type: type)
            #expect(response.status == 200)
            let answer = try await Self.opened(response, sealed.opener)
            #expect(answer.head.status == .contentTooLarge && answer.text.contains("the content exceeds the limit"), "\(answer.text)")
        }
        #expect(whole.withLock { $0 } == 1)
        await target.stop()
    }

    @Test("A chunked response over its limit is broken off, whether or not its length is known")
    func responseTooLarge() async throws {
        let gate = AsyncStream.makeStream(of: Void.self)
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            let size = request.path.hasPrefix("/small") ? 50_000 : 60_000
            return TestResponse(headerFields: [:], length: request.path.hasSuffix("known") ? 2 * size : nil) { index in
                // The second part waits until the first one has reached the client.
                if index == 1 { for await _ in gate.stream { break } }
                return index < 2 ? [UInt8](repeating: 1, count: size) : nil
            }
        }
        try await RunningGateway.with(allow: [target.url], limits: { $0.chunkedMessageBytes = 100_000 }) { (gateway) async throws in
            func count(_ path: String) async throws -> Int {
                let sealed = try await gateway.chunkedMessage(.to(target.url + path))
                let response = try await gateway.send(.bytes(sealed.message), type: OHTTPMediaType.chunkedRequest)
                var answer = ChunkedAnswer(response, sealed.opener)
                var count = 0
                while let part = try await answer.nextBody() {
                    if count == 0 { gate.continuation.yield() }
                    count += part.utf8.count
                }
                return count
            }
            for form in ["known", "open"] {
                #expect(try await count("/small/\(form)") == 100_000)
                await #expect(throws: TransportError.self) { try await count("/large/\(form)") }
            }
        }
        await target.stop()
    }

    static func opened(_ response: TransportResponse, _ opener: consuming ChunkedResponseOpener) async throws -> BinaryHTTPResponse {
        opener.append(try await response.body.collect(upTo: 1 << 20))
        var bytes = Data()
        while let part = try opener.next() { bytes.append(part) }
        bytes.append(try opener.finish())
        return try BinaryHTTPResponse(decoding: bytes)
    }

    /// What the relay sees of a response: the lengths of its chunks, and the names of the outer header fields.
    private func seen(_ gateway: RunningGateway, _ head: HTTPRequest) async throws -> (lengths: [Int], fields: [String]) {
        let answer = try await gateway.post(gateway.chunkedMessage(head).message, type: OHTTPMediaType.chunkedRequest)
        #expect(answer.status == 200)
        return (chunkLengths(of: answer.body, after: 16), answer.headers.map(\.name.canonicalName).sorted())
    }

    /// The clock does not advance, so that no part of a response is late.
    @Test("Responses of nearly the same length have chunks of the same lengths")
    func lengths() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(body: [UInt8](repeating: 1, count: Int(request.path.dropFirst()) ?? 0))
        }
        try await RunningGateway.with(allow: [target.url], time: ManualClock()) { (gateway) async throws in
            for length in [20_000, 20_001, 20_010] {
                #expect(try await seen(gateway, .to("\(target.url)/\(length)")).lengths == [16_384 + 16, 4_096 + 16])
            }
            let long = try await seen(gateway, .to("\(target.url)/3000000")).lengths
            let total = long.reduce(0) { $0 + $1 - 16 }
            #expect(total > 3_000_000 && BinaryHTTPPadding.padme.paddedSize(of: total) == total)
            #expect(long.dropLast().allSatisfy { $0 == 16_384 + 16 })
        }
        await target.stop()
    }

    @Test("To the relay, the gateway's own answers look like any other small response")
    func ownAnswers() async throws {
        let target = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "ok") }
        try await RunningGateway.with(allow: [target.url, "http://127.0.0.1:1"], time: ManualClock()) { (gateway) async throws in
            let good = try await seen(gateway, .to(target.url))
            #expect(good.lengths == [1_024 + 16])
            for head in try [
                HTTPRequest.to("http://127.0.0.1:2/"), .to("http://127.0.0.1:1/"), .to(target.url, fields: [.date: "yesterday"]),
            ] {
                let own = try await seen(gateway, head)
                #expect(own == good)
            }
        }
        await target.stop()
    }
}
