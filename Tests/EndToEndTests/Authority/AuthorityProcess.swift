import ApproovServer
import CertificatePinning
import Foundation
import HTTPTransport
import HTTPTypes
import Testing

/// `approov serve` on a data folder and a port of the system's choosing.
struct AuthorityProcess {
    let url: String
    private let process: Process

    /// Starts it and waits for its URL.
    /// - Parameters:
    ///   - folder: where its store is
    ///   - port: the port to come back on, as evidence is for one URL; 0 at first
    /// - Returns: the process, which is ready
    /// - Throws: when it ends before it is ready
    static func start(_ folder: TemporaryFolder, port: Int = 0) async throws -> AuthorityProcess {
        let output = folder.url.appending(path: "output-\(UUID().uuidString)")
        try Data().write(to: output)
        let process = Process()
        process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(
            path: "approov")
        process.arguments = ["serve", "--data", folder.url.path, "--listen", "127.0.0.1:\(port)", "--attestations-per-minute", "0"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        while process.isRunning {
            let text = try String(contentsOf: output, encoding: .utf8)
            if let line = text.split(separator: "\n", omittingEmptySubsequences: false).first, text.contains("\n") {
                return AuthorityProcess(url: String(line), process: process)
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw ServerError(code: .invalidConfiguration, message: "approov serve ended with \(process.terminationStatus)")
    }

    var port: Int { URL(string: url)?.port ?? 0 }

    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
    }

    /// Asks it to stop and waits for its end.
    /// - Returns: its exit code
    func terminate() async -> Int32 {
        process.terminate()
        while process.isRunning { try? await Task.sleep(for: .milliseconds(10)) }
        return process.terminationStatus
    }
}

/// Requests over TLS that is pinned to an authority's keys.
struct AuthorityConnection: Sendable {
    private let transport: CurlTransport
    private let policy: TrustPolicy
    private let url: String

    init(_ url: String, store: AuthorityStore) async throws {
        let identity = try await store.serverIdentity(hosts: [])
        let anchors = try TrustAnchors(pem: identity.rootPEM)
        let pins = try PublicKeysTrustEvaluator(pins: Set(identity.pins.map { try Pin($0) }))
        transport = try CurlTransport()
        let host = HostPattern(try TransportURL(url).host)
        policy = TrustPolicy(rules: try HostMap([(host, TrustRule(evaluators: [pins], anchors: anchors))]), defaultAnchors: anchors)
        self.url = url
    }

    func get(_ path: String) async throws -> (status: Int, body: [UInt8]) {
        try await send(TransportRequest(url: try TransportURL(url + path), policy: policy))
    }

    func post(_ path: String, _ body: String) async throws -> (status: Int, body: [UInt8]) {
        try await send(
            TransportRequest(
                url: try TransportURL(url + path), method: .post, headerFields: [.contentType: "application/jose"],
                body: .bytes(Array(body.utf8)), policy: policy))
    }

    func shutDown() {
        transport.shutdown()
    }

    private func send(_ request: TransportRequest) async throws -> (status: Int, body: [UInt8]) {
        let response = try await transport.send(request)
        return (response.status, try await response.body.collect(upTo: 1 << 20))
    }
}
