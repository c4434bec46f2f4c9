import Approov
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPTransport
import Logging

/// (n) The first call of a program, with nothing prefetched, no open connection and no token.
///
/// The peer is the same request without attestation on a new connection.
struct FirstCallBenchmark {
    static let peer = "bare new connection"
    static let name = "ApproovSession, first call"
    static let scenario = "program of 30 MiB"

    let options: Options

    func run() async throws -> [Figure] {
        guard let server = options.server, let roots = options.roots else {
            throw BenchmarkError("the group first needs --server and --roots; Scripts/benchmark brings both")
        }
        let url = server + "/five"
        let anchors = try TrustAnchors(pem: String(contentsOfFile: roots, encoding: .utf8))
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let executable = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")
        try Data(repeating: 0x5a, count: 30 << 20).write(to: executable)
        defer { try? FileManager.default.removeItem(at: executable) }
        return try await Comparison(group: "first", scenario: Self.scenario, unit: .milliseconds, peers: [Self.peer]).run(
            [
                Subject(Self.peer, isPeer: true) {
                    let client = try CurlTransportClient(url: url, roots: anchors)
                    defer { client.shutdown() }
                    return Round(value: try await seconds { try await client.get() } * 1_000, operations: 1)
                },
                Subject(Self.name) {
                    try await first(backend, url, executable) { client, attester in
                        try await attester.finishMeasuring()
                        return try await seconds { try await client.get() }
                    }
                },
                Subject("making service and session") {
                    var made = 0.0
                    _ = try await first(
                        backend, url, executable, onMade: { made = $0 },
                        { _, attester in
                            try await attester.finishMeasuring(); return 0
                        })
                    return Round(value: made * 1_000, operations: 1)
                },
                Subject("hashing the program") {
                    Round(value: try await seconds { _ = try ExecutableMeasurement.sha256(ofFileAt: executable) } * 1_000, operations: 1)
                },
            ], options: options)
    }

    /// Makes a service and a session as a new process would, and has `work` use them.
    private func first(
        _ backend: BackendProcess, _ url: String, _ executable: URL, onMade: (Double) -> Void = { _ in },
        _ work: (ApproovSessionClient, InstallationAttester) async throws -> Double
    ) async throws -> Round {
        let state = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: state) }
        let clock = ContinuousClock()
        let start = clock.now
        let attester = try InstallationAttester(stateDirectory: state, executable: executable)
        let transport = try CurlTransport()
        defer { transport.shutdown() }
        let service = try ApproovService(
            configuration: ApproovConfiguration(backend.configuration), stateDirectory: state, attester: attester, transport: transport,
            logger: Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() })
        let session = try ApproovSession(service: service, bindHeader: "Authorization")
        onMade((clock.now - start) / .seconds(1))
        let client = ApproovSessionClient(session: session, request: try ProtectedApp.request(url))
        return Round(value: try await work(client, attester) * 1_000, operations: 1)
    }
}
