import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPRecording
import HTTPTypes

/// A folder for a recording, and a server in this process.
struct Site {
    let folder: TemporaryFolder
    /// Where the recording is; not made yet.
    let recording: URL

    init() throws {
        folder = try TemporaryFolder()
        recording = folder.url.appending(path: "recording", directoryHint: .isDirectory)
    }

    /// The names of the recording's files, sorted.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: recording.path).sorted() }
    }

    /// The text of all files of the recording, with their names.
    var everything: String {
        get throws {
            try names.map { "\($0)\n" + String(decoding: try Data(contentsOf: recording.appending(path: $0)), as: UTF8.self) }.joined()
        }
    }

    /// Records the exchanges of requests, reading each body to its end.
    @discardableResult
    func record(
        _ requests: [TransportRequest], redaction: RecordingRedaction = .standard, limits: RecordingLimits = RecordingLimits(),
        handler: @escaping @Sendable (TransportRequest) async throws -> TransportResponse
    ) async throws -> [[UInt8]] {
        let transport = try RecordingTransport(
            wrapping: InProcessTransport(handler: handler), into: recording, redaction: redaction, limits: limits)
        var bodies: [[UInt8]] = []
        for request in requests { bodies.append(try await transport.send(request).body.collect(upTo: 64 << 20)) }
        return bodies
    }

    /// Writes a file of the recording.
    func write(_ text: String, to name: String) throws {
        try FileManager.default.createDirectory(at: recording, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: recording.appending(path: name))
    }
}

extension TransportRequest {
    /// Makes a request in one line.
    init(_ text: String, _ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:], body: RequestBody = .none) throws {
        self.init(
            url: try TransportURL(text), method: method, headerFields: fields, body: body,
            policy: try TrustPolicy(rules: HostMap([]), defaultAnchors: TrustAnchors(pem: TestPKI.root().pem)))
    }
}

extension TransportResponse {
    /// Makes a response with a text.
    init(_ text: String, to request: TransportRequest, status: Int = 200, _ fields: HTTPFields = [:]) {
        self.init(status: status, headerFields: fields, url: request.url, body: ResponseBody(bytes: Array(text.utf8)))
    }

    var text: String {
        get async throws { String(decoding: try await body.collect(upTo: 64 << 20), as: UTF8.self) }
    }
}
