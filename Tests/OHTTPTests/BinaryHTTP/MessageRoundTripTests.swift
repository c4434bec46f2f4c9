import ApproovTesting
import Foundation
import HTTPTypes
import Testing

@testable import OHTTP

@Suite("Binary HTTP messages")
struct MessageRoundTripTests {
    @Test(
        "A message survives a round trip in both framings, padded or not",
        arguments: [BinaryHTTPFraming.knownLength, .indeterminateLength],
        [BinaryHTTPPadding.none, .padme])
    func roundTrip(framing: BinaryHTTPFraming, padding: BinaryHTTPPadding) throws {
        let request = try BinaryHTTPRequest(decoding: Data(try Samples.request.encoded(framing: framing, padding: padding)))
        #expect(request == Samples.request)
        let response = try BinaryHTTPResponse(decoding: Data(try Samples.response.encoded(framing: framing, padding: padding)))
        #expect(response == Samples.response)
    }

    @Test("Repeated fields stay separate and in order, with names in lower case")
    func repeatedFields() throws {
        let request = try BinaryHTTPRequest(decoding: Data(try Samples.request.encoded()))
        #expect(
            request.head.headerFields.map { "\($0.name.rawName)=\($0.value)" } == [
                "accept=*/*", "x-two=first", "cookie=a=1", "x-two=second", "cookie=b=2", "x-empty=",
            ])
    }

    @Test("Two Set-Cookie fields are not joined")
    func setCookie() throws {
        var response = BinaryHTTPResponse(head: HTTPResponse(status: 204))
        response.head.headerFields.append(HTTPField(name: .setCookie, value: "a=1; Expires=Sat, 21 Nov 2026 00:00:00 GMT"))
        response.head.headerFields.append(HTTPField(name: .setCookie, value: "b=2"))
        let decoded = try BinaryHTTPResponse(decoding: Data(try response.encoded()))
        #expect(decoded.head.headerFields[values: .setCookie] == ["a=1; Expires=Sat, 21 Nov 2026 00:00:00 GMT", "b=2"])
    }

    @Test("The authority keeps its port, and the path its escapes and query")
    func target() throws {
        let request = try BinaryHTTPRequest(decoding: Data(try Samples.request.encoded()))
        #expect(request.head.authority == "api.example.com:8443")
        #expect(request.head.path == "/v1/a%20b?q=1&r")
    }

    @Test("Field values keep bytes above 0x7f and control characters")
    func octets() throws {
        let value: [UInt8] = [0x66, 0xfc, 0x72, 0x20, 0xff, 0x01, 0x80, 0x7f]
        var request = BinaryHTTPRequest(head: HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/"))
        request.head.headerFields.append(HTTPField(name: .userAgent, lenientValue: value))
        let decoded = try BinaryHTTPRequest(decoding: Data(try request.encoded()))
        #expect(decoded.head.headerFields.first?.withUnsafeBytesOfValue { [UInt8]($0) } == value)
    }

    @Test("White space around a field value is not encoded")
    func whiteSpace() throws {
        var request = BinaryHTTPRequest(head: HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/"))
        request.head.headerFields.append(HTTPField(name: .userAgent, lenientValue: Array(" \tx y\t ".utf8)))
        #expect(try BinaryHTTPRequest(decoding: Data(try request.encoded())).head.headerFields[.userAgent] == "x y")
    }

    @Test("The encoder drops connection fields and those that Connection names, except TE: trailers")
    func connectionFields() throws {
        var request = BinaryHTTPRequest(head: HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/"))
        let fields = [
            ("x-hop", "1"), ("connection", "X-Hop , close"), ("keep-alive", "1"), ("proxy-connection", "1"), ("te", "gzip"),
            ("te", "Trailers"), ("transfer-encoding", "chunked"), ("upgrade", "h2c"), ("x-end", "1"),
        ]
        for (name, value) in fields {
            request.head.headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let decoded = try BinaryHTTPRequest(decoding: Data(try request.encoded()))
        #expect(decoded.head.headerFields.map { "\($0.name)=\($0.value)" } == ["te=Trailers", "x-end=1"])
        #expect(ConnectionFields.removed(from: request.head.headerFields) == decoded.head.headerFields)
    }

    @Test("The decoder keeps connection fields, so that the forwarder can remove them")
    func connectionFieldsAreRead() throws {
        let lines: [UInt8] = .line("connection", "close")
        let request = try BinaryHTTPRequest(decoding: Data(.get(0) + [UInt8(lines.count)] + lines))
        #expect(request.head.headerFields[.connection] == "close")
    }

    @Test("The content of a decoded known-length message is a slice of it, not a copy")
    func slice() throws {
        let bytes = Data(try Samples.request.encoded())
        let request = try BinaryHTTPRequest(decoding: bytes)
        let isInside = bytes.withUnsafeBytes { whole in
            request.body.withUnsafeBytes { body -> Bool in
                guard let start = whole.baseAddress, let part = body.baseAddress else { return false }
                return part > start && part + body.count <= start + whole.count
            }
        }
        #expect(isInside)
    }

    @Test("A message in a slice of larger data is decoded")
    func sliceAsInput() throws {
        let bytes = Data([9, 9, 9]) + Data(try Samples.request.encoded())
        #expect(try BinaryHTTPRequest(decoding: bytes.dropFirst(3)) == Samples.request)
    }

    @Test("CONNECT with only an authority, and extended CONNECT with a protocol, survive a round trip")
    func connect() throws {
        let plain = BinaryHTTPRequest(head: HTTPRequest(method: .connect, scheme: nil, authority: "a:443", path: nil))
        #expect(try BinaryHTTPRequest(decoding: Data(try plain.encoded())) == plain)
        var extended = BinaryHTTPRequest(head: HTTPRequest(method: .connect, scheme: "https", authority: "a", path: "/chat"))
        extended.head.extendedConnectProtocol = "websocket"
        extended.head.headerFields = Samples.fields
        for framing in [BinaryHTTPFraming.knownLength, .indeterminateLength] {
            #expect(try BinaryHTTPRequest(decoding: Data(try extended.encoded(framing: framing))) == extended)
        }
    }

    @Test("Every final and informational status survives a round trip")
    func statuses() throws {
        for code in 200...599 {
            let response = BinaryHTTPResponse(
                informational: [HTTPResponse(status: .init(code: 100 + code % 100))], head: HTTPResponse(status: .init(code: code)))
            #expect(try BinaryHTTPResponse(decoding: Data(try response.encoded())) == response)
        }
    }

    @Test("The length in front of a field section has the shortest form, whatever the section's size")
    func sectionLengths() throws {
        for size in [0, 1, 50, 60, 61, 62, 63, 64, 65, 1000, 16_370, 16_380, 16_381, 16_382, 16_383, 16_384, 40_000] {
            var request = BinaryHTTPRequest(head: HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/"))
            if size > 0 { request.head.headerFields[.userAgent] = String(repeating: "x", count: size) }
            let encoded = try request.encoded()
            let line = size == 0 ? 0 : 1 + 10 + VariableLengthInteger.size(of: size) + size
            #expect(encoded.count == [UInt8].get(0).count + VariableLengthInteger.size(of: line) + line + 2)
            #expect(try BinaryHTTPRequest(decoding: Data(encoded)) == request)
        }
    }

    @Test(
        "The encoder refuses a request that Binary HTTP cannot express",
        arguments: [
            HTTPRequest(method: .get, scheme: nil, authority: "a", path: "/"),
            HTTPRequest(method: .get, scheme: "https", authority: "a", path: nil),
            HTTPRequest(method: .get, scheme: "https", authority: "a", path: ""),
            HTTPRequest(method: .get, scheme: "https", authority: "a", path: "/ä"),
            HTTPRequest(method: .get, scheme: "https", authority: "a b", path: "/"),
            HTTPRequest(method: .connect, scheme: "https", authority: "a", path: "/"),
            HTTPRequest(method: .connect, scheme: nil, authority: nil, path: nil),
        ])
    func unencodable(head: HTTPRequest) {
        #expect(code(as: OHTTPError.self) { try BinaryHTTPRequest(head: head).encoded() } == .unencodable)
    }

    @Test("The encoder refuses a final response whose status is not 200 to 599", arguments: [0, 99, 100, 199, 600, 999])
    func unencodableStatus(_ status: Int) {
        #expect(
            code(as: OHTTPError.self) {
                try BinaryHTTPResponse(head: HTTPResponse(status: .init(code: status))).encoded()
            } == .unencodable)
    }

    @Test("The encoder refuses an informational response with a final status")
    func unencodableInformational() {
        let response = BinaryHTTPResponse(informational: [HTTPResponse(status: 200)], head: HTTPResponse(status: 200))
        #expect(code(as: OHTTPError.self) { try response.encoded() } == .unencodable)
    }
}
