import ApproovTesting
import Foundation
import HTTPTypes
import OHTTP
import Testing

/// The messages of RFC 9292, section 5.
private enum Example {
    static let knownLengthRequest = Hex.bytes(
        """
        0003474554056874747073000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31362e33
        206c69626375726c2f372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f77
        77772e6578616d706c652e636f6d0f6163636570742d6c616e677561676506656e2c206d690000
        """)
    static let indeterminateLengthRequest = Hex.bytes(
        """
        0203474554056874747073000a2f68656c6c6f2e7478740a757365722d6167656e74346375726c2f372e31362e33206c
        69626375726c2f372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f777777
        2e6578616d706c652e636f6d0f6163636570742d6c616e677561676506656e2c206d6900000000000000000000000000
        """)
    static let indeterminateLengthResponse = Hex.bytes(
        """
        0340660772756e6e696e670a22736c65657020313522004067046c696e6b233c2f7374796c652e6373733e3b2072656c
        3d7072656c6f61643b2061733d7374796c65046c696e6b243c2f7363726970742e6a733e3b2072656c3d7072656c6f61
        643b2061733d7363726970740040c804646174651d4d6f6e2c203237204a756c20323030392031323a32383a35332047
        4d5406736572766572064170616368650d6c6173742d6d6f6469666965641d5765642c203232204a756c203230303920
        31393a31353a353620474d5404657461671422333461613338372d642d3135363865623030220d6163636570742d7261
        6e6765730562797465730e636f6e74656e742d6c656e67746802353104766172790f4163636570742d456e636f64696e
        670c636f6e74656e742d747970650a746578742f706c61696e003348656c6c6f20576f726c6421204d7920636f6e7465
        6e7420696e636c75646573206120747261696c696e672043524c462e0d0a0000
        """)
    static let knownLengthResponse = Hex.bytes(
        "0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e0d0a0d07747261696c65720474657874")
}

@Suite("The examples of RFC 9292, section 5")
struct RFC9292ExampleTests {
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

    @Test("The known-length request is decoded, and encoded byte for byte")
    func knownLengthRequest() throws {
        let bytes = Data(Example.knownLengthRequest)
        let request = try BinaryHTTPRequest(decoding: bytes)
        expectRequest(request)
        #expect(Data(try request.encoded()) == bytes)
        // Empty trailers and empty content may be omitted, but nothing else.
        expectRequest(try BinaryHTTPRequest(decoding: bytes.dropLast(1)))
        expectRequest(try BinaryHTTPRequest(decoding: bytes.dropLast(2)))
        #expect(code(as: OHTTPError.self) { try BinaryHTTPRequest(decoding: bytes.dropLast(3)) } == .truncatedMessage)
    }

    @Test("The indeterminate-length request is decoded, and encoded byte for byte except for its padding")
    func indeterminateLengthRequest() throws {
        let bytes = Data(Example.indeterminateLengthRequest)
        let request = try BinaryHTTPRequest(decoding: bytes)
        expectRequest(request)
        #expect(Data(try request.encoded(framing: .indeterminateLength)) == bytes.dropLast(10))
        for count in 1...12 { expectRequest(try BinaryHTTPRequest(decoding: bytes.dropLast(count))) }
        #expect(code(as: OHTTPError.self) { try BinaryHTTPRequest(decoding: bytes.dropLast(13)) } == .truncatedMessage)
    }

    @Test("The indeterminate-length response with informational ones is decoded, and encoded byte for byte")
    func indeterminateLengthResponse() throws {
        let bytes = Data(Example.indeterminateLengthResponse)
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

    @Test("The known-length response with a trailer is decoded, and encoded byte for byte")
    func knownLengthResponse() throws {
        let bytes = Data(Example.knownLengthResponse)
        let response = try BinaryHTTPResponse(decoding: bytes)
        #expect(response.head.status == .ok)
        #expect(response.body == Data("This content contains CRLF.\r\n".utf8))
        #expect(response.trailers.map { [$0.name.rawName, $0.value] } == [["trailer", "text"]])
        #expect(Data(try response.encoded()) == bytes)
    }
}
