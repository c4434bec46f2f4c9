import Foundation
import HTTPTypes
import OHTTP
import Testing

@Suite("Malformed Binary HTTP")
struct BadMessageTests {
    private static let malformed = OHTTPError(.malformedMessage, "")
    private static let truncated = OHTTPError(.truncatedMessage, "")
    private static let limited = OHTTPError(.limitExceeded, "")

    private func request(_ bytes: [UInt8], limits: BinaryHTTPLimits = BinaryHTTPLimits()) throws -> BinaryHTTPRequest {
        try BinaryHTTPRequest(decoding: Data(bytes), limits: limits)
    }

    private func response(_ bytes: [UInt8], limits: BinaryHTTPLimits = BinaryHTTPLimits()) throws -> BinaryHTTPResponse {
        try BinaryHTTPResponse(decoding: Data(bytes), limits: limits)
    }

    /// A request whose header section consists of `lines`.
    private func withFields(_ lines: [UInt8], indicator: UInt8 = 0) -> [UInt8] {
        .get(indicator) + (indicator == 0 ? [UInt8(lines.count)] : []) + lines + (indicator == 0 ? [] : [0])
    }

    @Test("An empty message is truncated")
    func empty() {
        #expect(throws: Self.truncated) { try request([]) }
        #expect(throws: Self.truncated) { try response([]) }
    }

    @Test("A cut-off request is truncated, or lacks only parts that RFC 9292, section 3.8 allows to omit")
    func truncatedRequests() throws {
        for whole in try Samples.encodedRequests() {
            for count in whole.indices {
                do {
                    let cut = try request([UInt8](whole.prefix(count)))
                    // Only whole parts may be missing, after the control data, the header fields or the content.
                    #expect(cut.head.path == Samples.request.head.path)
                    #expect(cut.head.headerFields.isEmpty || cut.head == Samples.request.head)
                    #expect(cut.body.isEmpty || cut.body == Samples.request.body)
                    #expect(cut.trailers.isEmpty || cut == Samples.request)
                } catch let error as OHTTPError {
                    #expect(error == Self.truncated)
                }
            }
        }
    }

    @Test("A cut-off response is truncated, or lacks only parts that RFC 9292, section 3.8 allows to omit")
    func truncatedResponses() throws {
        for whole in try Samples.encodedResponses() {
            for count in whole.indices {
                do {
                    let cut = try response([UInt8](whole.prefix(count)))
                    #expect(cut.informational == Samples.response.informational)
                    #expect(cut.head.headerFields.isEmpty || cut.head == Samples.response.head)
                    #expect(cut.body.isEmpty || cut.body == Samples.response.body)
                    #expect(cut.trailers.isEmpty || cut == Samples.response)
                } catch let error as OHTTPError {
                    #expect(error == Self.truncated)
                }
            }
        }
    }

    @Test("A cut-off message is accepted only at the points where the remaining parts may be omitted")
    func truncationPoints() throws {
        func accepted(_ whole: [UInt8]) -> [Int] {
            whole.indices.filter { count in (try? request([UInt8](whole.prefix(count)))) != nil }
        }
        let head: [UInt8] = .get(0)
        // The message may end after its control data, its empty header section or its empty content.
        #expect(accepted(head + [0, 0, 0]) == [head.count, head.count + 1, head.count + 2])
        let lines: [UInt8] = .line("a", "b")
        #expect(accepted(head + [4] + lines + [1, 9] + [4] + lines) == [head.count, head.count + 5, head.count + 7])
        let indeterminate: [UInt8] = .get(2)
        let start = indeterminate.count
        #expect(accepted(indeterminate + lines + [0] + [1, 9, 0] + lines + [0]) == [start, start + 5, start + 8])
    }

    @Test(
        "A message with any byte changed is decoded or refused with a typed error, and never crashes",
        arguments: [0x01, 0x40, 0x80, 0xff] as [UInt8])
    func flipped(mask: UInt8) throws {
        for whole in try Samples.encodedRequests() {
            for index in whole.indices {
                var bytes = whole
                bytes[index] ^= mask
                expectTyped { _ = try request(bytes) }
                expectTyped { _ = try response(bytes) }
            }
        }
        for whole in try Samples.encodedResponses() {
            for index in whole.indices {
                var bytes = whole
                bytes[index] ^= mask
                expectTyped { _ = try response(bytes) }
            }
        }
    }

    private func expectTyped(_ work: () throws -> Void) {
        do { try work() } catch { #expect([Self.malformed, Self.truncated, Self.limited].contains { $0 == error as? OHTTPError }) }
    }

    @Test("A length of 2^62-1 is refused in every position", arguments: [0, 2] as [UInt8])
    func lyingLengths(indicator: UInt8) throws {
        let huge = [UInt8](repeating: 0xff, count: 8)
        #expect(throws: Self.limited) { try request([indicator] + huge) }
        #expect(throws: Self.limited) { try request([indicator] + .text("GET") + huge) }
        #expect(throws: Self.limited) { try request([indicator] + .text("GET") + .text("https") + .text("a") + huge) }
        #expect(throws: Self.limited) { try request(.get(indicator) + huge) }
        #expect(throws: OHTTPError.self) { try request(.get(indicator) + (indicator == 0 ? [20] : []) + .text("a") + huge) }
        // The parser does not hold content, so with a false length the message ends too early.
        #expect(throws: Self.truncated) { try request(.get(indicator) + [0] + huge) }
        let limits = BinaryHTTPLimits(bodyBytes: 1 << 40)
        #expect(throws: Self.limited) { try request(.get(indicator) + [0] + huge, limits: limits) }
        #expect(throws: Self.limited) { try request(.get(indicator) + [0, 0] + huge) }
    }

    @Test("Two content chunks whose lengths overflow when added are refused")
    func overflowingChunks() throws {
        let huge = [UInt8](repeating: 0xff, count: 8)
        #expect(throws: OHTTPError.self) { try request(.get(2) + [0, 1, 7] + huge + [7] + huge) }
    }

    @Test("An unknown framing indicator, or one for the other kind of message, is refused", arguments: [4, 5, 0x3f] as [UInt8])
    func framing(indicator: UInt8) {
        #expect(throws: Self.malformed) { try request(.get(indicator)) }
        #expect(throws: Self.malformed) { try response([indicator, 0x40, 0xc8]) }
        #expect(throws: Self.malformed) { try request([1, 0x40, 0xc8]) }
        #expect(throws: Self.malformed) { try response(.get(2)) }
    }

    @Test("A framing indicator in a longer form than necessary is accepted")
    func longFraming() throws {
        #expect(try request([0x40, 0x00] + [UInt8].get(0).dropFirst()).head.method == .get)
        #expect(try response([0xc0, 0, 0, 0, 0, 0, 0, 3, 0x80, 0, 0, 200]).head.status == .ok)
    }

    @Test("The terminators of fields and content are accepted in a longer form than necessary")
    func longTerminators() throws {
        let message = try request(.get(2) + .line("a", "b") + [0x40, 0] + [1, 9, 0x80, 0, 0, 0] + .line("c", "d") + [0x40, 0])
        #expect(message.head.headerFields.count == 1)
        #expect(message.body == Data([9]))
        #expect(message.trailers.count == 1)
    }

    @Test("A status outside of 100 to 599 is refused", arguments: [0, 99, 600, 16_383])
    func status(code: Int) {
        #expect(throws: Self.malformed) { try response([1, 0x40 | UInt8(code >> 8), UInt8(code & 0xff)]) }
    }

    @Test("A response that has only informational responses is truncated")
    func onlyInformational() {
        #expect(throws: Self.truncated) { try response([1, 0x40, 103]) }
        #expect(throws: Self.truncated) { try response([1, 0x40, 103, 0]) }
        #expect(throws: Self.truncated) { try response([3, 0x40, 103, 0, 0x40]) }
    }

    @Test("A padding byte that is not zero is refused, wherever it is", arguments: [1, 2, 1000])
    func padding(at position: Int) throws {
        var bytes: [UInt8] = try Samples.request.encoded() + [UInt8](repeating: 0, count: 1000)
        #expect(try request(bytes) == Samples.request)
        bytes[bytes.count - position] = 1
        #expect(throws: Self.malformed) { try request(bytes) }
    }

    @Test(
        "A malformed field name is refused", arguments: ["a b", "a:b", "ä", "a\n", "(a)", "a\u{0}", " a", "\"a\""])
    func names(name: String) {
        #expect(throws: Self.malformed) { try request(withFields(.line(name, "x"))) }
        #expect(throws: Self.malformed) { try request(withFields(.line(name, "x"), indicator: 2)) }
    }

    @Test("An empty field name is refused in a known-length section")
    func emptyName() {
        #expect(throws: Self.malformed) { try request(withFields([0, 1, 0x61])) }
    }

    @Test("A field name with capitals is accepted, and found by its name in lower case")
    func capitals() throws {
        #expect(try request(withFields(.line("X-Big", "1"))).head.headerFields[try #require(HTTPField.Name("x-big"))] == "1")
    }

    @Test(
        "A field value with NUL, CR or LF, or with white space at its ends, is refused",
        arguments: ["a\u{0}b", "a\rb", "a\nb", " a", "a ", "\ta", "a\t", " ", "\r\nx: y"])
    func values(value: String) {
        #expect(throws: Self.malformed) { try request(withFields(.line("a", value))) }
        #expect(throws: Self.malformed) { try request(withFields(.line("a", value), indicator: 2)) }
    }

    @Test("Unknown, redundant, repeated and late pseudo-fields are refused, and so are those in trailers")
    func pseudoFields() throws {
        for name in [":method", ":scheme", ":authority", ":path", ":status", ":unknown", ":"] {
            #expect(throws: Self.malformed) { try request(withFields(.line(name, "x"))) }
            #expect(throws: Self.malformed) { try response([1, 0x40, 0xc8, UInt8(name.utf8.count + 3)] + .line(name, "x")) }
        }
        #expect(throws: Self.malformed) { try request(withFields(.line("a", "b") + .line(":protocol", "x"))) }
        #expect(throws: Self.malformed) { try request(withFields(.line(":protocol", "x") + .line(":protocol", "x"))) }
        #expect(throws: Self.malformed) { try request(.get(0) + [0, 0, 12] + .line(":protocol", "x")) }
        #expect(try request(withFields(.line(":protocol", "x") + .line("a", "b"))).head.extendedConnectProtocol == "x")
    }

    @Test("A section whose length does not match its fields is refused")
    func sectionLengths() {
        let lines: [UInt8] = .line("a", "b")
        #expect(throws: Self.malformed) { try request(.get(0) + [3] + lines) }
        #expect(throws: Self.malformed) { try request(.get(0) + [5] + lines + [1, 2, 3]) }
        #expect(throws: Self.malformed) { try request(.get(0) + [1] + lines) }
    }

    @Test("Control data that does not form a request is refused")
    func controlData() {
        let cases: [[UInt8]] = [
            .text("") + .text("https") + .text("a") + .text("/"), .text("G T") + .text("https") + .text("a") + .text("/"),
            .text("GET") + .text("") + .text("a") + .text("/"), .text("GET") + .text("https") + .text("a") + .text(""),
            .text("GET") + .text("https") + .text("a\r\n") + .text("/"), .text("GET") + .text("https") + .text("a") + .text("/ HTTP/1.1"),
            .text("GET") + .text("ht\u{0}ps") + .text("a") + .text("/"), .text("GET") + .text("https") + .text("ä") + .text("/"),
            .text("CONNECT") + .text("https") + .text("a") + .text("/"), .text("CONNECT") + .text("") + .text("") + .text(""),
        ]
        for bytes in cases {
            #expect(throws: Self.malformed) { try request([0] + bytes) }
            #expect(throws: Self.malformed) { try request([2] + bytes + [0, 0, 0]) }
        }
    }
}
