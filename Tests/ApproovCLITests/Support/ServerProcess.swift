import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

/// A command that serves until a signal stops it.
struct ServerProcess {
    /// The URL that it printed when it was ready.
    let url: String
    private let process: ChildProcess

    /// Starts a server, waits for its URL, runs the body, and stops the server with SIGTERM.
    /// - Parameters:
    ///   - arguments: The command's arguments.
    ///   - environment: Variables that are added to its environment.
    ///   - descriptors: The limit of open files, as options of `ulimit`; nil to use the limit of this process.
    ///   - body: Receives the running server.
    /// - Returns: How the server ended, and all that it printed.
    /// - Throws: The error of the body, or an error when the command cannot be started.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], descriptors: String? = nil, _ body: (ServerProcess) async throws -> Void
    ) async throws -> ChildProcess.Run {
        let process = try Approov.start(arguments, environment: environment, descriptors: descriptors)
        let url = try await process.waitForOutput().trimmingCharacters(in: .newlines)
        try await body(ServerProcess(url: url, process: process))
        process.signal(SIGTERM)
        return Approov.recordingCrash(await process.wait())
    }

    /// Its standard error so far.
    var errors: String { process.errors }

    /// Its limits of open files: the soft one, and the hard one (proc(5), limits).
    var openFiles: [String] {
        get throws {
            let limits = try String(contentsOfFile: "/proc/\(process.id)/limits", encoding: .utf8)
            let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
            return line.split(separator: " ").dropFirst(3).prefix(2).map(String.init)
        }
    }

    /// The processor time that it has used so far, in hundredths of a second (proc(5), stat).
    var processorTicks: Int {
        get throws {
            let fields = try String(contentsOfFile: "/proc/\(process.id)/stat", encoding: .utf8).split(separator: " ")
            return fields[13...14].compactMap { Int($0) }.reduce(0, +)
        }
    }

    /// The most memory that it has used so far, in bytes (proc(5), VmHWM).
    var peakMemory: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(process.id)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
            return try #require(Int(line.filter(\.isNumber))) * 1024
        }
    }

    /// Sends a message to a server on this machine.
    static func send(
        _ body: RequestBody, type: String? = nil, to url: String, method: HTTPRequest.Method = .post, trusting roots: String? = nil,
        over transport: CurlTransport
    ) async throws -> TransportResponse {
        var options = TransferOptions()
        options.isIdempotent = false
        return try await transport.send(
            TransportRequest(
                url: try TransportURL(url), method: method, headerFields: type.map { [.contentType: $0] } ?? [:], body: body,
                policy: TrustPolicy(rules: try HostMap([]), defaultAnchors: try roots.map { try TrustAnchors(pem: $0) } ?? .system()),
                options: options))
    }
}
