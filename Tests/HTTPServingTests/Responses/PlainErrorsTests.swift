import TestTags
import Testing

@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct PlainErrorsTests {
    @Test("An unknown path gets 404 and a wrong method 405 with Allow, both as problem details")
    func errors() async throws {
        try await BareListener.with { port in
            let missing = try await BareListener.answer(to: "GET /nothing", port: port)
            #expect(missing.hasPrefix("HTTP/1.1 404") && missing.hasSuffix(#"{"status":404,"title":"Not Found"}"#), "\(missing)")
            #expect(!missing.lowercased().contains("\r\nallow:"))
            let method = try await BareListener.answer(to: "GET /length", port: port)
            #expect(method.hasPrefix("HTTP/1.1 405") && method.hasSuffix(#"{"status":405,"title":"Method Not Allowed"}"#), "\(method)")
            #expect(method.lowercased().contains("\r\nallow: post\r\n"))
            let head = try await BareListener.answer(to: "POST /health", port: port)
            #expect(head.lowercased().contains("\r\nallow: get, head\r\n"))
            for answer in [missing, method] { #expect(answer.lowercased().contains("\r\ncontent-type: application/problem+json\r\n")) }
            #expect(try await BareListener.isHealthy(port))
        }
    }
}
