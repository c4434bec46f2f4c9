import ApproovTesting
import TestTags
import Testing

@Suite(.tags(.sockets), .timeLimit(.minutes(5))) struct HeadAnswersTests {
    @Test("The answers to HEAD have no content, also those to unknown paths, and the length of the answer to GET")
    func head() async throws {
        try await BareListener.with { port in
            let client = try RawClient(port: port)
            client.write("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\nHEAD /x HTTP/1.1\r\nHost: x\r\n\r\n")
            client.write("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let parts = await client.readToEnd().text.split(separator: "\r\n\r\n")
            #expect(parts.map { $0.prefix(12) } == ["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200", #"{"status":"o"#])
            #expect(parts.first?.lowercased().contains("\r\ncontent-length: 15") == true)
        }
    }
}
