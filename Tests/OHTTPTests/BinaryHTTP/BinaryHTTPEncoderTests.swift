import ApproovTesting
import Foundation
import HTTPTypes
import OHTTP
import Testing

@Suite("Binary HTTP encoded in parts")
struct BinaryHTTPEncoderTests {
    @Test(
        "A request encoded in parts decodes as a whole, and has a size that its padding allows",
        arguments: [BinaryHTTPPadding.none, .padme])
    func request(padding: BinaryHTTPPadding) throws {
        var encoder = BinaryHTTPRequestEncoder()
        var bytes = try encoder.head(Samples.request.head)
        bytes += try encoder.body(Samples.request.body.prefix(100))
        bytes += try encoder.body(Data())
        bytes += try encoder.body(Samples.request.body.dropFirst(100))
        let before = bytes.count
        bytes += try encoder.end(trailers: Samples.request.trailers, padding: padding)
        #expect(bytes.count > before)
        #expect(padding.paddedSize(of: bytes.count) == bytes.count)
        #expect(try BinaryHTTPRequest(decoding: Data(bytes)) == Samples.request)
    }

    @Test("A response encoded in parts decodes as a whole, including informational responses")
    func response() throws {
        var encoder = BinaryHTTPResponseEncoder()
        var bytes: [UInt8] = []
        for response in Samples.response.informational { bytes += try encoder.informational(response) }
        bytes += try encoder.head(Samples.response.head)
        bytes += try encoder.body(Samples.response.body)
        bytes += try encoder.end(trailers: Samples.response.trailers)
        #expect(try BinaryHTTPResponse(decoding: Data(bytes)) == Samples.response)
        #expect(bytes == (try Samples.response.encoded(framing: .indeterminateLength)))
    }

    @Test("Parts in the wrong order are refused")
    func order() throws {
        #expect(
            code(as: OHTTPError.self) {
                var encoder = BinaryHTTPRequestEncoder()
                _ = try encoder.body(Data([1]))
            } == .unencodable)
        #expect(code(as: OHTTPError.self) { _ = try BinaryHTTPRequestEncoder().end() } == .unencodable)
        #expect(
            code(as: OHTTPError.self) {
                var encoder = BinaryHTTPRequestEncoder()
                _ = try encoder.head(Samples.request.head)
                _ = try encoder.head(Samples.request.head)
            } == .unencodable)
        #expect(
            code(as: OHTTPError.self) {
                var encoder = BinaryHTTPResponseEncoder()
                _ = try encoder.head(HTTPResponse(status: 200))
                _ = try encoder.informational(HTTPResponse(status: 103))
            } == .unencodable)
        #expect(
            code(as: OHTTPError.self) {
                var encoder = BinaryHTTPResponseEncoder()
                _ = try encoder.head(HTTPResponse(status: 103))
            } == .unencodable)
    }
}
