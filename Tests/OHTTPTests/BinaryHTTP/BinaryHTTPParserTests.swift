import ApproovTesting
import Foundation
import HTTPTypes
import Testing

@testable import OHTTP

@Suite("Binary HTTP decoded as it arrives")
struct BinaryHTTPParserTests {
    @Test("A message parsed byte by byte gives the same result as one parsed whole")
    func byteByByte() throws {
        for bytes in try Samples.encodedRequests() {
            let whole = try Samples.parse(.request, [Data(bytes)])
            #expect(whole.isComplete && whole.request == Samples.request.head && whole.body == Samples.request.body)
            #expect(try Samples.parse(.request, bytes.map { Data([$0]) }) == whole)
        }
        for bytes in try Samples.encodedResponses() {
            let whole = try Samples.parse(.response, [Data(bytes)])
            #expect(whole.isComplete && whole.responses.count == 3 && whole.trailers == Samples.response.trailers)
            #expect(try Samples.parse(.response, bytes.map { Data([$0]) }) == whole)
        }
    }

    @Test("A message parsed in random parts gives the same result as one parsed whole", arguments: 0..<200)
    func anySplit(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let bytes = try #require(try (Samples.encodedRequests() + Samples.encodedResponses()).randomElement(using: &random))
        let kind: MessageParser.Kind = bytes[0] % 2 == 0 ? .request : .response
        #expect(try Samples.parse(kind, split(bytes, &random)) == Samples.parse(kind, [Data(bytes)]))
    }

    @Test("A damaged message parsed in random parts gives the same result or error as one parsed whole", arguments: 0..<300)
    func anySplitOfBadBytes(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        var bytes = try #require(try (Samples.encodedRequests() + Samples.encodedResponses()).randomElement(using: &random))
        let kind: MessageParser.Kind = bytes[0] % 2 == 0 ? .request : .response
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        #expect(result { try Samples.parse(kind, split(bytes, &random)) } == result { try Samples.parse(kind, [Data(bytes)]) })
    }

    private func split(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [Data] {
        var parts: [Data] = []
        var rest = bytes[...]
        let most = [1, 3, 20, 1000].randomElement(using: &random) ?? 1
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 0...most, using: &random))
            // About half of the parts are slices of larger data, so that their first index is not 0.
            parts.append(Bool.random(using: &random) ? Data(part) : (Data([7]) + Data(part)).dropFirst())
            rest = rest.dropFirst(part.count)
        }
        return parts
    }

    private func result(_ work: () throws -> Samples.Parsed) -> Result<Samples.Parsed, OHTTPError> {
        do { return .success(try work()) } catch { return .failure(error as? OHTTPError ?? OHTTPError(.finished, "another error")) }
    }

    @Test("Content that comes in chunks of one byte is passed on in large parts, and counts against the limit")
    func tinyChunks() throws {
        let count = 300_000
        var bytes = Data(.get(2) + [0])
        for index in 0..<count { bytes += [1, UInt8(index & 0xff)] }
        bytes += [0, 0]
        var parser = BinaryHTTPRequestParser(limits: BinaryHTTPLimits(bodyBytes: count))
        try parser.append(bytes)
        parser.finish()
        var content: [UInt8] = []
        var parts = 0
        while let part = try parser.next() {
            guard case .body(let data) = part else { continue }
            content += data
            parts += 1
        }
        #expect(parts < 10 && content == (0..<count).map { UInt8($0 & 0xff) })
        let error = #expect(throws: OHTTPError.self) {
            try BinaryHTTPRequest(decoding: bytes, limits: BinaryHTTPLimits(bodyBytes: count - 1))
        }
        #expect(error?.code == .limitExceeded)
    }

    @Test("The parser returns the head when its section is complete, and content as it arrives")
    func early() throws {
        var parser = BinaryHTTPRequestParser()
        try parser.append(Data(.get(2) + .line("a", "b")))
        #expect(try parser.next() == nil)
        try parser.append(Data([0]))
        guard case .head(let head) = try parser.next() else { throw OHTTPError(.finished, "no head") }
        #expect(head.headerFields.count == 1)
        try parser.append(Data([5, 1, 2]))
        #expect(try parser.next() == .body(Data([1, 2])))
        #expect(try parser.next() == nil)
        try parser.append(Data([3, 4, 5, 0]))
        #expect(try parser.next() == .body(Data([3, 4, 5])))
        #expect(try parser.next() == nil)
        parser.finish()
        #expect(try parser.next() == .end)
        #expect(try parser.next() == nil)
    }

    @Test("The parser returns informational responses, head, content, trailers and end in this order")
    func order() throws {
        var parser = BinaryHTTPResponseParser()
        try parser.append(Data(try Samples.response.encoded()))
        parser.finish()
        var names: [String] = []
        while let event = try parser.next() {
            names.append(String(String(describing: event).prefix { $0 != "(" }))
        }
        #expect(names == ["informational", "informational", "head", "body", "trailers", "end"])
    }

    @Test("No bytes can be added after the parser was told that the message has ended")
    func afterFinish() throws {
        var parser = BinaryHTTPRequestParser()
        parser.finish()
        #expect(code(as: OHTTPError.self) { try parser.append(Data([0])) } == .finished)
    }

    @Test("After an error the parser returns only that error")
    func afterError() throws {
        var parser = BinaryHTTPRequestParser()
        try parser.append(Data([4]))
        for _ in 0..<2 { #expect(code(as: OHTTPError.self) { _ = try parser.next() } == .malformedMessage) }
        try parser.append(Data([UInt8].get(0)))
        #expect(code(as: OHTTPError.self) { _ = try parser.next() } == .malformedMessage)
    }

    @Test("A message that ends in the middle is truncated")
    func broken() throws {
        for bytes in try Samples.encodedRequests() {
            var parser = BinaryHTTPRequestParser()
            try parser.append(Data(bytes.prefix(200)))
            while try parser.next() != nil {}
            parser.finish()
            #expect(code(as: OHTTPError.self) { _ = try parser.next() } == .truncatedMessage)
        }
    }
}
