import ApproovTesting
import TestTags
import Testing

@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct HeadRequestTests {
    @Test("The answers to HEAD have no content, also those to unknown paths and of streams, and the length of the answer to GET")
    func head() async throws {
        try await BareListener.with { port in
            let client = try RawClient(port: port)
            for path in ["/health", "/x", "/stream"] { client.write("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n") }
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let parts = await client.readToEnd().text.split(separator: "\r\n\r\n").map { $0.lowercased() }
            #expect(parts.map { $0.prefix(12) } == ["http/1.1 200", "http/1.1 404", "http/1.1 200", "http/1.1 200", #"{"status":"o"#])
            #expect(parts.first?.contains("\r\ncontent-length: 15") == true)
        }
    }
}
