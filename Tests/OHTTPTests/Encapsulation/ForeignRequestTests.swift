import Foundation
import HTTPTypes
import OHTTP
import Testing

/// Requests from the Python package ohttpy 0.1a13, which makes them with the Rust crates `ohttp` and `bhttp`.
///
/// It used the key configuration of RFC 9458, appendix A, and requested http://127.0.0.1:8080/orders. It does not write field names in
/// lower case.
@Suite("Requests that another implementation has encapsulated")
struct ForeignRequestTests {
    private static let messages = ["GET": get, "POST": post]
    private static let get = Hex.bytes(
        """
        010020000100015f613683980ef739fd6f03f0c6dd59d33acbb0bc182f595e1cbe6fd20431090ef918110d2f460865219120101b584a3db6c08ccba6bc0dc2
        513c6c507eb94d596678e8cb9c43c6c73bf6ff3616ddd9ca639f510875450906e3f8221f4b8d
        """)
    private static let post = Hex.bytes(
        """
        01002000010001592937f4418ae625954581b7ddafda3584e9bfdfaa68d31029c078405ca26113db8895301736c5b37078c29f36156a3d234f7cfb72336561
        3c05ad5c4be623d999e4cd72547ef3861f3615340a400a83b1c428d5b3ea6001c2a81e105c81fc34e3d829c15093ea6b67b9918b6b70c6f050ddfde6a5
        """)

    @Test(
        "The gateway opens a foreign request, and encoding it again makes its field names lower case",
        arguments: [("GET", ""), ("POST", "hello")])
    func open(method: String, body: String) throws {
        let keyring = try GatewayKeyring([
            GatewayKey(
                id: 1, kem: .x25519, privateKey: Hex.bytes("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a"),
                suites: [.aes128GCM, .chaCha20Poly1305])
        ])
        let opened = try keyring.decapsulate(#require(Self.messages[method]))
        let request = try BinaryHTTPRequest(decoding: opened.request)
        #expect(request.head.method.rawValue == method)
        #expect(request.head.scheme == "http")
        #expect(request.head.authority == "127.0.0.1:8080")
        #expect(request.head.path == "/orders")
        #expect(request.head.headerFields[try #require(HTTPField.Name("x-order"))] == "7")
        #expect(String(decoding: request.body, as: UTF8.self) == body)
        #expect(request.trailers.isEmpty)
        #expect(request.head.headerFields.contains { $0.name.rawName == "X-Order" })
        let again = try BinaryHTTPRequest(decoding: Data(request.encoded()))
        #expect(again.head.headerFields.allSatisfy { $0.name.rawName == $0.name.canonicalName })
    }
}
