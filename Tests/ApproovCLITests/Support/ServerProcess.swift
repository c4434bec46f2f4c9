import ApproovTesting
import CertificatePinning
import Foundation
import HTTPTransport
import HTTPTypes
import Testing

/// A command that serves until it is told to stop.
struct ServerProcess {
    /// What it printed when it was ready.
    let url: String
    private let process: ChildProcess

    /// Starts a server, waits for its URL, hands it over, and stops the server with SIGTERM.
    /// - Returns: how it ended, and all that it printed
    static func run(
        _ arguments: [String], environment: [String: String] = [:], _ body: (ServerProcess) async throws -> Void
    ) async throws -> ChildProcess.Run {
        let process = try Approov.start(arguments, environment: environment)
        let url = try await process.waitForOutput().trimmingCharacters(in: .newlines)
        try await body(ServerProcess(url: url, process: process))
        process.signal(SIGTERM)
        return Approov.recordingCrash(await process.wait())
    }

    /// What it has written to standard error.
    var errors: String { process.errors }

    /// The most memory that it has had so far, in bytes (proc(5), VmHWM).
    var peakMemory: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(Int(line.filter(\.isNumber))) * 1024
        }
    }

    /// Sends a message to a server on this machine.
    static func send(
        _ body: RequestBody, type: String? = nil, to url: String, method: HTTPRequest.Method = .post, over transport: CurlTransport
    ) async throws -> TransportResponse {
        var options = TransferOptions()
        options.isIdempotent = false
        return try await transport.send(
            TransportRequest(
                url: try TransportURL(url), method: method, headerFields: type.map { [.contentType: $0] } ?? [:], body: body,
                policy: TrustPolicy(rules: try HostMap([]), defaultAnchors: try .system()), options: options))
    }
}
