import ApproovTokenCheck
import Foundation
import Hummingbird
import Logging

/// A backend with a `ConnectionGuard` that prints each request before it answers: `guarded-backend CERTIFICATE KEY`.
@main
struct GuardedBackend {
    static func main() async throws {
        let files = try CommandLine.arguments.dropFirst().map { try String(contentsOfFile: $0, encoding: .utf8) }
        guard files.count == 2 else { return print("guarded-backend CERTIFICATE KEY") }
        let router = Router(context: BasicTokenCheckedRequestContext.self)
        router.post("work") { request, _ in
            let id = String(buffer: try await request.body.collect(upTo: 100))
            say(id)
            // Long enough for a SIGTERM to arrive meanwhile.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...4)))
            return id
        }
        let app = try backend(router, at: .hostname("127.0.0.1", port: 0), certificate: files[0], key: files[1])
        // The same application, but it prints its URL.
        try await Application(
            responder: app.responder, server: app.server, configuration: app.configuration,
            onServerRunning: { say("https://127.0.0.1:\($0.localAddress?.port ?? 0)") },
            logger: Logger(label: "backend") { _ in SwiftLogNoOpLogHandler() }
        ).runService()
    }

    /// Prints a line with a single write.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
