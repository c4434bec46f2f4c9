import APIClient
import Approov
import Foundation
import FoundationNetworking
import Synchronization

/// Uploads a file as a part of a form, and prints by how many bytes this process grew meanwhile: `upload-meter URL FILE`.
@main
struct UploadMeter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let base = URL(string: arguments[1]) else { exit(2) }
        let client = try APIClient(base: base, session: try ApproovSession(service: nil))
        // The first request makes what all requests share.
        _ = try await client.resource("warm").send(.post, body: FormBody(["a": "b"]))

        var builder = RequestBuilder(url: try client.resource("form").url, method: .post)
        builder.body = MultipartBody([
            FormPart(name: "before", content: .text("1")),
            FormPart(name: "film", content: .file(path: arguments[2], type: "application/octet-stream")),
            FormPart(name: "after", content: .text("2")),
        ])
        let start = try resident()
        let most = Mutex(start)
        let (request, body) = try builder.build()
        let (_, head) = try await client.session.upload(for: request, body: body) { _ in
            guard let now = try? resident() else { return }
            most.withLock { $0 = max($0, now) }
        }
        print(head.statusCode, most.withLock { $0 } - start)
    }

    /// The memory that this process uses now, in bytes (proc(5), statm).
    private static func resident() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(getpagesize())
    }
}
