import APIClient
import Approov
import Foundation
import FoundationNetworking
import HTTPClient
import Synchronization

/// Uploads a file as a part of a form, and prints the status, and by how many bytes this process grew meanwhile:
/// `upload-meter URL FILE [SECONDS]`.
///
/// With SECONDS, the upload is suspended for that time when half of it has been sent, and the number of bytes that were sent meanwhile is
/// printed as well.
@main
struct UploadMeter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 || arguments.count == 4, let base = URL(string: arguments[1]) else { exit(2) }
        let client = try APIClient(base: base, session: try ApproovSession(service: nil))
        // The first request makes what all requests share.
        _ = try await client.resource("warm").send(.post, body: FormBody(["a": "b"]))

        var builder = RequestBuilder(url: try client.resource("form").url, method: .post)
        builder.body = MultipartBody([
            FormPart(name: "before", content: .text("1")),
            FormPart(name: "film", content: .file(path: arguments[2], type: "application/octet-stream")),
            FormPart(name: "after", content: .text("2")),
        ])
        let size = try FileManager.default.attributesOfItem(atPath: arguments[2])[.size] as? Int ?? 0
        let start = try resident()
        let most = Mutex(start)
        let (request, body) = try builder.build()
        let (results, result) = AsyncStream.makeStream(of: Result<Int, any Error>.self)
        let task = client.session.uploadTask(with: request, body: body) { _, head, error in
            result.yield(error.map { .failure($0) } ?? .success((head as? HTTPURLResponse)?.statusCode ?? 0))
            result.finish()
        }
        var seconds = arguments.count == 4 ? Int(arguments[3]) : nil
        var sentWhileSuspended: Int?
        task.resume()
        for await progress in task.progress {
            note(in: most)
            guard let pause = seconds, progress.upload.completed >= size / 2 else { continue }
            seconds = nil
            task.suspend()
            // The transfer stops a moment after the call.
            try await Task.sleep(for: .seconds(1))
            let before = task.uploadProgress.completed
            for _ in 0..<pause * 10 {
                try await Task.sleep(for: .milliseconds(100))
                note(in: most)
            }
            sentWhileSuspended = task.uploadProgress.completed - before
            task.resume()
        }
        for await status in results {
            print(try status.get(), most.withLock { $0 - start }, sentWhileSuspended.map { "\($0)" } ?? "")
        }
    }

    private static func note(in most: borrowing Mutex<Int>) {
        guard let now = try? resident() else { return }
        most.withLock { $0 = max($0, now) }
    }

    /// The memory that this process uses now, in bytes (proc(5), statm).
    private static func resident() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(getpagesize())
    }
}
