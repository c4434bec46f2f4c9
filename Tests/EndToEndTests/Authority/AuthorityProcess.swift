import ApproovAuthority
import ApproovTesting
import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import Testing

/// `approov serve` with a data folder, on a port that the system chooses.
struct AuthorityProcess {
    let url: String
    private let process: ChildProcess

    /// Starts it and waits for its URL.
    /// - Parameters:
    ///   - folder: The folder of its store.
    ///   - port: The port to listen on again, because evidence is for one URL; 0 at the first start.
    /// - Returns: The process, which is ready.
    /// - Throws: `TestServerError` when it ends before it is ready.
    static func start(_ folder: TemporaryFolder, port: Int = 0) async throws -> AuthorityProcess {
        try await start(folder.url, port: port)
    }

    /// Starts it with a folder that the caller may replace.
    static func start(_ folder: URL, port: Int = 0) async throws -> AuthorityProcess {
        let process = try ChildProcess(
            ChildProcess.approov,
            ["serve", "--data", folder.path(percentEncoded: false), "--listen", "127.0.0.1:\(port)", "--attestations-per-minute", "0"])
        let url = try await process.waitForOutput().split(separator: "\n").first
        return AuthorityProcess(url: String(url ?? ""), process: process)
    }

    var port: Int { URL(string: url)?.port ?? 0 }

    /// Its log so far.
    var log: String { process.errors }

    func kill() { process.signal(SIGKILL) }

    /// Asks it to stop and waits for its end.
    func terminate() async -> ChildProcess.End {
        process.signal(SIGTERM)
        return await process.wait().end
    }
}

/// Requests over TLS, pinned to an authority's keys.
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
