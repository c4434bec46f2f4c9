import ApproovTesting
import ApproovTokenCheck
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MessageSignatures
import TestTags
import Testing

@Suite(.tags(.sockets)) struct SignatureCheckWireTests {
    private let app = SignedRequests()

    @Test(
        "Over a connection, the path and the query are those of the request line, to the byte",
        arguments: ["/", "/a%2Fb/../c//d;e?x=%20&x=&&y", "/?", "/%C3%A9?q=%C3%A9+1", "/a?b?c=/d", "/A/%7euser?%"])
    func targets(path: String) async throws {
        for body in ["", String(repeating: "0123456789", count: 20_000)] {
            let method = body.isEmpty ? "GET" : "POST"
            let fields = try await app.fields(method, path, body: body)
            #expect(try await app.answer(fields, method, path, body: body, over: .live).status == 200, "\(path)")
            #expect(try await app.answer(fields, method, path + "x", body: body, over: .live) == .refused, "\(path)")
            if !body.isEmpty {
                #expect(try await app.answer(fields, method, path, body: body + "0", over: .live) == .refused)
            }
        }
    }

    @Test("Over a connection, a Host that takes a part of the signed URL is refused, so that no other path is served")
    func hostWithPath() async throws {
        let host = try #require(HTTPField.Name("Host"))
        let port = ":8443"
        for signed in ["/search?q=/admin", "/search/admin"] {
            var fields = try await app.fields("GET", signed, origin: "https://localhost" + port)
            fields[host] = "localhost" + port
            #expect(try await app.answer(fields, "GET", signed, over: .ahc(.http)).status == 200)
            fields[host] = "localhost" + port + signed.dropLast("/admin".count)
            #expect(try await app.answer(fields, "GET", "/admin", over: .ahc(.http)) == .refused)
        }
    }

    @Test("Over a connection, a repeated field is the same in one line or two")
    func repeatedFields() async throws {
        let accept = SignatureComponent.field(.accept)
        var fields = HTTPFields()
        fields[values: .accept] = ["text/plain", "*/*"]
        fields = try await app.fields(components: SignedRequests.components(hasBody: false) + [accept], fields: fields)
        #expect(try await app.answer(fields, over: .live).status == 200)
        fields[values: .accept] = ["text/plain, */*"]
        #expect(try await app.answer(fields, over: .live).status == 200)
        fields[values: .accept] = ["*/*", "text/plain"]
        #expect(try await app.answer(fields, over: .live) == .refused)
    }
}
