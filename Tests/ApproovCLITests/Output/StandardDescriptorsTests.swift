import ApproovTesting
import Foundation
import TestTags
import Testing

@Suite("Closed standard descriptors", .tags(.sockets, .processes), .timeLimit(.minutes(5)))
struct StandardDescriptorsTests {
    @Test("A result that has no standard output is an error and not written into a connection, with and without standard input")
    func closedOutput() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(body: Array("body".utf8)) }
        for closed in [">&-", "<&- >&-"] {
            let script = "exec \"$0\" call --no-attest \(server.url)/ \(closed)"
            let run = try await ChildProcess.run(
                URL(filePath: "/bin/sh"), ["-c", script, ChildProcess.approov.path(percentEncoded: false)],
                environment: ["HOME": "/nonexistent"])
            #expect(run.exitCode == 1 && run.errors.contains("the response cannot be written to standard output"), "\(run.errors)")
        }
        await server.stop()
    }

    @Test("A log line that has no standard error goes nowhere")
    func closedError() async throws {
        let server = try await TestHTTPServer.start(certificate: nil) { _ in TestResponse(body: Array("body".utf8)) }
        let script = "exec \"$0\" call --no-attest -v \(server.url)/ 2>&-"
        let run = try await ChildProcess.run(
            URL(filePath: "/bin/sh"), ["-c", script, ChildProcess.approov.path(percentEncoded: false)],
            environment: ["HOME": "/nonexistent"])
        #expect(run.exitCode == 0 && run.output == "body")
        await server.stop()
    }
}
