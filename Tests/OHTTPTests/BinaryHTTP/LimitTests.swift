import Foundation
import HTTPTypes
import Testing

@testable import OHTTP

@Suite("The limits of Binary HTTP")
struct LimitTests {
    private static let limited = OHTTPError(.limitExceeded, "")

    private func expect(_ bytes: [UInt8], _ limits: BinaryHTTPLimits, isAccepted: Bool) {
        if isAccepted {
            #expect(throws: Never.self) { try BinaryHTTPRequest(decoding: Data(bytes), limits: limits) }
        } else {
            #expect(throws: Self.limited) { try BinaryHTTPRequest(decoding: Data(bytes), limits: limits) }
        }
    }

    @Test("The limit for control data is exact")
    func controlData() {
        expect(.get(0), BinaryHTTPLimits(controlDataBytes: 10), isAccepted: true)
        expect(.get(0), BinaryHTTPLimits(controlDataBytes: 9), isAccepted: false)
    }

    @Test("The limit for a field section is exact, in both framings and for trailers")
    func fieldSection() {
        let lines: [UInt8] = .line("a", "bc") + .line("d", "ef")
        for (size, isAccepted) in [(lines.count, true), (lines.count - 1, false)] {
            let limits = BinaryHTTPLimits(fieldSectionBytes: size)
            expect(.get(0) + [UInt8(lines.count)] + lines, limits, isAccepted: isAccepted)
            expect(.get(2) + lines + [0], limits, isAccepted: isAccepted)
            expect(.get(0) + [0, 0, UInt8(lines.count)] + lines, limits, isAccepted: isAccepted)
            expect(.get(2) + [0, 0] + lines + [0], limits, isAccepted: isAccepted)
        }
    }

    @Test("The limit for the number of fields is exact, and never above the maximum of HTTPFields")
    func fieldCount() {
        let lines: [UInt8] = .line("a", "") + .line("a", "")
        for (count, isAccepted) in [(2, true), (1, false)] {
            expect(.get(0) + [UInt8(lines.count)] + lines, BinaryHTTPLimits(fieldCount: count), isAccepted: isAccepted)
        }
        let many = [[UInt8]](repeating: .line("a", ""), count: 65_534).flatMap { $0 }
        let limits = BinaryHTTPLimits(fieldSectionBytes: .max, fieldCount: .max)
        expect(.get(2) + many + [0], limits, isAccepted: true)
        expect(.get(2) + many + .line("a", "") + [0], limits, isAccepted: false)
    }

    @Test("The limit for informational responses is exact")
    func informationalResponses() throws {
        let bytes: [UInt8] = [3, 0x40, 103, 0, 0x40, 103, 0, 0x40, 0xc8]
        #expect(try BinaryHTTPResponse(decoding: Data(bytes), limits: .init(informationalResponses: 2)).informational.count == 2)
        #expect(throws: Self.limited) { try BinaryHTTPResponse(decoding: Data(bytes), limits: .init(informationalResponses: 1)) }
    }

    @Test("The limit for content is exact, and covers all chunks together")
    func content() {
        for (size, isAccepted) in [(3, true), (2, false)] {
            expect(.get(0) + [0, 3, 1, 2, 3], BinaryHTTPLimits(bodyBytes: size), isAccepted: isAccepted)
            expect(.get(2) + [0, 2, 1, 2, 1, 3, 0], BinaryHTTPLimits(bodyBytes: size), isAccepted: isAccepted)
        }
    }

    @Test("Padding may be 1 MiB longer than the message and no more, however it arrives")
    func padding() throws {
        let message = Data(try Samples.response.encoded())
        let longest = message.count + 1_048_576
        for (count, isAccepted) in [(longest, true), (longest + 1, false)] {
            let whole = message + Data(count: count)
            let parts = [whole.prefix(100), whole.dropFirst(100).prefix(1_000), whole.dropFirst(1_100)]
            if isAccepted {
                #expect(try BinaryHTTPResponse(decoding: whole) == Samples.response)
                #expect(try Samples.parse(.response, parts).isComplete)
            } else {
                #expect(throws: Self.limited) { try BinaryHTTPResponse(decoding: whole) }
                #expect(throws: Self.limited) { try Samples.parse(.response, parts) }
            }
        }
    }

    @Test("Padding that does not end is refused, also when the content has no limit")
    func endlessPadding() throws {
        var parser = BinaryHTTPResponseParser()
        try parser.append(Data(try Samples.response.encoded()))
        while try parser.next() != nil {}
        #expect(throws: Self.limited) {
            for _ in 0..<100 {
                try parser.append(Data(count: 16 * 1024))
                _ = try parser.next()
            }
        }
    }

    @Test("With limits of zero or below the decoder accepts nothing and does not crash", arguments: [0, -1, Int.min])
    func nothing(limit: Int) {
        let limits = BinaryHTTPLimits(
            controlDataBytes: limit, fieldSectionBytes: limit, fieldCount: limit, informationalResponses: limit, bodyBytes: limit)
        expect(.get(0), limits, isAccepted: false)
    }

    @Test("The parser checks a length against its limit before the counted bytes arrive")
    func early() throws {
        for prefix in [[UInt8].get(0) + [0x80, 1, 0, 1], .get(2) + .text("a") + [0x80, 1, 0, 1], [0, 0x80, 0, 0x40, 1]] {
            var parser = MessageParser(.request, limits: BinaryHTTPLimits())
            try parser.append(Data(prefix))
            #expect(throws: Self.limited) { _ = try parser.next() }
        }
    }
}
