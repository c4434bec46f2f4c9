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

    @Test("hold for control data, exactly")
    func controlData() {
        expect(.get(0), BinaryHTTPLimits(controlDataBytes: 10), isAccepted: true)
        expect(.get(0), BinaryHTTPLimits(controlDataBytes: 9), isAccepted: false)
    }

    @Test("hold for a field section, exactly, in both framings and for trailers")
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

    @Test("hold for the number of fields, and for more than HTTPFields can take whatever the limit")
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

    @Test("hold for informational responses, exactly")
    func informationalResponses() throws {
        let bytes: [UInt8] = [3, 0x40, 103, 0, 0x40, 103, 0, 0x40, 0xc8]
        #expect(try BinaryHTTPResponse(decoding: Data(bytes), limits: .init(informationalResponses: 2)).informational.count == 2)
        #expect(throws: Self.limited) { try BinaryHTTPResponse(decoding: Data(bytes), limits: .init(informationalResponses: 1)) }
    }

    @Test("hold for content, exactly, over all chunks together")
    func content() {
        for (size, isAccepted) in [(3, true), (2, false)] {
            expect(.get(0) + [0, 3, 1, 2, 3], BinaryHTTPLimits(bodyBytes: size), isAccepted: isAccepted)
            expect(.get(2) + [0, 2, 1, 2, 1, 3, 0], BinaryHTTPLimits(bodyBytes: size), isAccepted: isAccepted)
        }
    }

    @Test("that are zero or below accept nothing and do not crash", arguments: [0, -1, Int.min])
    func nothing(limit: Int) {
        let limits = BinaryHTTPLimits(
            controlDataBytes: limit, fieldSectionBytes: limit, fieldCount: limit, informationalResponses: limit, bodyBytes: limit)
        expect(.get(0), limits, isAccepted: false)
    }

    @Test("are held against a length as soon as it is there, before what it counts comes")
    func early() throws {
        for prefix in [[UInt8].get(0) + [0x80, 1, 0, 1], .get(2) + .text("a") + [0x80, 1, 0, 1], [0, 0x80, 0, 0x40, 1]] {
            var parser = MessageParser(.request, limits: BinaryHTTPLimits())
            try parser.append(Data(prefix))
            #expect(throws: Self.limited) { _ = try parser.next() }
        }
    }
}
