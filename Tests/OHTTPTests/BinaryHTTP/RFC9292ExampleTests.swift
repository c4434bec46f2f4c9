import Foundation
import HTTPTypes
import Testing

@testable import OHTTP

@Suite("The examples of RFC 9292, section 5", .enabled(if: Vectors.areThere, Vectors.whereTheyAre))
struct RFC9292ExampleTests {
    private func example(_ name: String) throws -> Data {
        let cases = try #require(try Vectors.load("rfc9292-section5-examples.json")["cases"] as? [[String: Any]])
        let found = try #require(cases.first { $0["name"] as? String == name })
        let hex = try #require(found["hex"] as? String)
        return Data(try #require(Hex.decode(hex)))
    }

    private static let requestFields: [(String, String)] = [
        ("user-agent", "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"), ("host", "www.example.com"),
        ("accept-language", "en, mi"),
    ]

    private func expectRequest(_ request: BinaryHTTPRequest) {
        #expect(request.head.method == .get)
        #expect(request.head.scheme == "https")
        #expect(request.head.authority == nil)
        #expect(request.head.path == "/hello.txt")
        #expect(request.head.headerFields.map { [$0.name.rawName, $0.value] } == Self.requestFields.map { [$0.0, $0.1] })
        #expect(request.body.isEmpty)
        #expect(request.trailers.isEmpty)
    }

    @Test("the known-length request is read, and written byte for byte")
    func knownLengthRequest() throws {
        let bytes = try example("request known-length")
        let request = try BinaryHTTPRequest(decoding: bytes)
        expectRequest(request)
        #expect(Data(try request.encoded()) == bytes)
        // Empty trailers and empty content may be left out; nothing more may.
        expectRequest(try BinaryHTTPRequest(decoding: bytes.dropLast(1)))
        expectRequest(try BinaryHTTPRequest(decoding: bytes.dropLast(2)))
        #expect(throws: OHTTPError(.truncatedMessage, "")) { try BinaryHTTPRequest(decoding: bytes.dropLast(3)) }
    }

    @Test("the indeterminate-length request is read, and written byte for byte but for its padding")
    func indeterminateLengthRequest() throws {
        let bytes = try example("request indeterminate-length")
        let request = try BinaryHTTPRequest(decoding: bytes)
        expectRequest(request)
        #expect(Data(try request.encoded(framing: .indeterminateLength)) == bytes.dropLast(10))
        for count in 1...12 { expectRequest(try BinaryHTTPRequest(decoding: bytes.dropLast(count))) }
        #expect(throws: OHTTPError(.truncatedMessage, "")) { try BinaryHTTPRequest(decoding: bytes.dropLast(13)) }
    }

    @Test("the indeterminate-length response with informational responses is read, and written byte for byte")
    func indeterminateLengthResponse() throws {
        let bytes = try example("response indeterminate-length with informational 102, 103")
        let response = try BinaryHTTPResponse(decoding: bytes)
        #expect(response.informational.map(\.status.code) == [102, 103])
        #expect(response.informational.first?.headerFields.map(\.name.rawName) == ["running"])
        #expect(
            response.informational.last?.headerFields.map(\.value) == [
                "</style.css>; rel=preload; as=style", "</script.js>; rel=preload; as=script",
            ])
        #expect(response.head.status == .ok)
        #expect(
            response.head.headerFields.map(\.name.rawName) == [
                "date", "server", "last-modified", "etag", "accept-ranges", "content-length", "vary", "content-type",
            ])
        #expect(response.body == Data("Hello World! My content includes a trailing CRLF.\r\n".utf8))
        #expect(response.trailers.isEmpty)
        #expect(Data(try response.encoded(framing: .indeterminateLength)) == bytes)
    }

    @Test("the known-length response with a trailer is read, and written byte for byte")
    func knownLengthResponse() throws {
        let bytes = try example("response known-length with trailer (from chunked)")
        let response = try BinaryHTTPResponse(decoding: bytes)
        #expect(response.head.status == .ok)
        #expect(response.body == Data("This content contains CRLF.\r\n".utf8))
        #expect(response.trailers.map { [$0.name.rawName, $0.value] } == [["trailer", "text"]])
        #expect(Data(try response.encoded()) == bytes)
    }
}
