import ApproovGateway
import ApproovTesting
import Foundation
import HTTPTypes
import OHTTP
import TestTags
import Testing

/// Requests for targets that are not allowed, over real sockets.
@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct GatewayTargetTests {
    @Test("A request for a target that is not allowed gets an encapsulated 403, and the gateway opens no connection")
    func forbidden() async throws {
        let allowed = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse() }
        let other = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse() }
        try await RunningGateway.with(allow: ["http://127.0.0.1:\(allowed.port)"]) { (gateway) async throws in
            let authority = "127.0.0.1:\(other.port)"
            var heads = [
                HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/"),
                HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(allowed.port)@\(authority)", path: "/"),
                HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(allowed.port)", path: "http://\(authority)/"),
                HTTPRequest(method: .get, scheme: "http", authority: "169.254.169.254", path: "/"),
                HTTPRequest(method: .connect, scheme: nil, authority: authority, path: nil),
                HTTPRequest(method: .get, scheme: "http", authority: "2130706433:\(other.port)", path: "/"),
            ]
            var mismatch = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(allowed.port)", path: "/")
            mismatch.headerFields.append(HTTPField(name: try #require(HTTPField.Name("Host")), value: authority))
            heads.append(mismatch)
            for head in heads {
                let answer = try await gateway.ask(head)
                #expect(answer.head.status == .forbidden, "\(head)")
            }
        }
        #expect(allowed.counters.connections == 0)
        #expect(other.counters.connections == 0)
        await allowed.stop()
        await other.stop()
    }

    @Test("The gateway returns a redirect to a target that is not allowed unchanged, and does not follow it")
    func redirects() async throws {
        let internalOne = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(text: "secret") }
        let target = try await TestHTTPServer.start(certificate: nil) { request in
            TestResponse(
                .init(code: Int(request.path.dropFirst()) ?? 302), headerFields: [.location: "http://127.0.0.1:\(internalOne.port)/"])
        }
        try await RunningGateway.with(allow: [target.url]) { (gateway) async throws in
            for status in [301, 302, 303, 307, 308] {
                let answer = try await gateway.ask(.to("\(target.url)/\(status)"))
                #expect(answer.head.status.code == status)
                #expect(answer.head.headerFields[.location] == "http://127.0.0.1:\(internalOne.port)/")
            }
            let next = try await gateway.ask(.to("http://127.0.0.1:\(internalOne.port)/"))
            #expect(next.head.status == .forbidden)
        }
        #expect(internalOne.counters.connections == 0)
        await internalOne.stop()
        await target.stop()
    }
}
