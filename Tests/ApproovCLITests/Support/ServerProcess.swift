import CertificatePinning
import Foundation
import HTTPTransport
import HTTPTypes
import Testing

/// A command that serves until it is told to stop.
struct ServerProcess {
    /// What it printed when it was ready.
    let url: String
    private let id: Int32
    private let scratch: TemporaryFolder

    /// Starts a server, waits for its URL, hands it over, and stops the server with SIGTERM.
    /// - Returns: the exit code
    static func run(
        _ arguments: [String], environment: [String: String] = [:], _ body: (ServerProcess) async throws -> Void
    ) async throws -> Int32 {
        let scratch = try TemporaryFolder()
        let process = try Approov.start(
            arguments, environment: environment, output: try scratch.file("out"), errors: try scratch.file("err"))
        do {
            while process.isRunning, try !scratch.text("out").contains("\n") { try await Task.sleep(for: .milliseconds(5)) }
            let url = try scratch.text("out").trimmingCharacters(in: .newlines)
            if url.isEmpty { Issue.record("no URL, but: \(try scratch.text("err"))") }
            try await body(ServerProcess(url: url, id: process.processIdentifier, scratch: scratch))
        } catch {
            process.terminate()
            throw error
        }
        process.terminate()
        while process.isRunning { try await Task.sleep(for: .milliseconds(5)) }
        if process.terminationReason == .uncaughtSignal { Issue.record("it crashed: \(try scratch.text("err").suffix(20_000))") }
        return process.terminationStatus
    }

    /// What it has written to standard error.
    var errors: String { (try? scratch.text("err")) ?? "" }

    /// The most memory that it has had so far, in bytes (proc(5), VmHWM).
    var peakMemory: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
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
