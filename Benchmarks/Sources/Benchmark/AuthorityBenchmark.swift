import Approov
import AsyncHTTPClient
import Attestation
import CertificatePinning
import Foundation
import FoundationNetworking
import NIOCore
import NIOHTTP1
import NIOSSL

/// (e) Attestations a second of an authority that has one processor, and what a first call waits for.
struct AuthorityBenchmark {
    static let name = "authority on one core"
    /// The least that an authority can do for an attestation.
    static let verification = "P-256 verification"
    /// The least that it can do with its libraries: TLS, HTTP/2, Hummingbird, and the verification.
    static let server = "server that verifies one signature"

    let options: Options

    /// The scenario of the processor time that one attestation takes.
    static func processorTime(atOnce: Int) -> String { "processor time, \(atOnce) at once" }

    func run() async throws -> [Figure] {
        try await attestations() + firstCalls()
    }

    private func attestations() async throws -> [Figure] {
        let backend = try BackendProcess(options: options, processor: 0)
        defer { backend.stop() }
        let load = try AttestationLoad(configuration: InitialConfiguration(backend.configuration))
        let server = try VerificationClient(api: backend.api, roots: backend.roots)
        let verification = try BareVerification()
        var figures: [Figure] = []
        for atOnce in [1, 16, 64] {
            var used: [[Double]] = [[], [], []]
            func round(_ index: Int, _ operations: () async throws -> Round) async throws -> Round {
                let before = backend.process.processorSeconds
                let round = try await operations()
                used[index].append((backend.process.processorSeconds - before) / Double(round.operations) * 1e9)
                return round
            }
            let subjects = [
                Subject(Self.name, in: backend.process) {
                    try await round(0) { try await load.run(atOnce: atOnce, seconds: options.seconds) }
                },
                Subject(Self.server, isPeer: true, in: backend.process) {
                    used[2].append(try verification.nanoseconds())
                    return try await round(1) { try await server.rate(atOnce: atOnce, seconds: options.seconds) }
                },
            ]
            figures += try await Comparison(
                group: "authority", scenario: "attestations, \(atOnce) at once", unit: .perSecond, peers: [Self.server]
            ).run(subjects, options: options)
            figures += Self.processorTimes(used, atOnce: atOnce)
        }
        try await load.remove()
        try await server.shutdown()
        return figures
    }

    /// The processor times of the rounds, in nanoseconds an operation: of attestations, of the server that verifies, of verifications.
    private static func processorTimes(_ rounds: [[Double]], atOnce: Int) -> [Figure] {
        let names = [name, server, verification]
        return names.indices.filter { !rounds[$0].isEmpty }.map { index in
            let peers = names.indices.filter { $0 > index && rounds[$0].count == rounds[index].count }
            let ratios = peers.map { peer in (names[peer], median(zip(rounds[index], rounds[peer]).map { $1 / $0 })) }
            return Figure(
                group: "authority", scenario: processorTime(atOnce: atOnce), name: names[index], value: median(rounds[index]),
                unit: .nanoseconds, ratios: Dictionary(uniqueKeysWithValues: ratios), rounds: rounds[index])
        }
    }

    private func firstCalls() async throws -> [Figure] {
        let backend = try BackendProcess(options: options)
        defer { backend.stop() }
        let request = try ProtectedApp.request(backend.api + "/five")
        guard let url = request.url else { throw BenchmarkError("no URL") }
        let anchors = try TrustAnchors(pem: InitialConfiguration(backend.configuration).hostRoots())
        func call(prefetching: Bool) async throws -> Double {
            let app = try ProtectedApp(backend)
            defer { app.remove() }
            if prefetching {
                app.session.prefetch(for: url, binding: ProtectedApp.authorization)
                while app.service.cachedTokenCount == 0 { try await Task.sleep(for: .milliseconds(2)) }
            }
            return try await seconds { try await ApproovSessionClient(session: app.session, request: request).get() } * 1_000
        }
        /// The median of ten calls: one call is too short for its processor time to be measured.
        func round(_ call: () async throws -> Double) async throws -> Round {
            var milliseconds: [Double] = []
            for _ in 0..<10 { milliseconds.append(try await call()) }
            return Round(value: median(milliseconds), operations: milliseconds.count)
        }
        let subjects = [
            Subject("first call, nothing prefetched") { try await round { try await call(prefetching: false) } },
            Subject("first call, token prefetched") { try await round { try await call(prefetching: true) } },
            Subject("HTTPTransport alone, new connection") {
                try await round {
                    let client = try CurlTransportClient(url: backend.api + "/five", roots: anchors)
                    defer { client.shutdown() }
                    return try await seconds { try await client.get() } * 1_000
                }
            },
        ]
        return try await Comparison(
            group: "authority", scenario: "latency", unit: .milliseconds, peers: ["HTTPTransport alone, new connection"]
        ).run(subjects, options: options)
    }
}

/// What the benchmark reads of a signed configuration.
private struct Payload: Decodable {
    struct Host: Decodable {
        let trustRoots: String?
    }

    let version: Int64
    let hosts: [String: Host]

    init(of configuration: InitialConfiguration) throws {
        self = try JSONDecoder().decode(Payload.self, from: Data(configuration.configuration.payloadBytes))
    }
}

/// A challenge of the authority.
private struct Challenge: Decodable {
    let challenge: String
}

/// The result of an attestation, with the challenge for the next one.
private struct Result: Decodable {
    let challenge: Challenge
}

extension InitialConfiguration {
    /// The roots of the first host that brings its own.
    func hostRoots() throws -> String {
        guard let roots = try Payload(of: self).hosts.values.compactMap(\.trustRoots).first else {
            throw BenchmarkError("no host has its own roots")
        }
        return roots
    }
}

/// Apps that attest over and over, each with the challenge of its last result: one round trip an attestation, as a refresh is.
///
/// It sends with AsyncHTTPClient: many apps behind one connection are more streams than libcurl and swift-nio agree about.
struct AttestationLoad {
    private let client: HTTPClient
    private let account: String
    private let authority: String
    private let version: Int64
    private let attester: InstallationAttester
    private let state: URL

    init(configuration: InitialConfiguration) throws {
        account = configuration.account
        authority = configuration.authority.absoluteString
        version = try Payload(of: configuration).version
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array((configuration.trustRoots ?? "").utf8)))
        var settings = HTTPClient.Configuration(tlsConfiguration: tls)
        settings.dnsOverride = configuration.authority.host().map { [$0: "127.0.0.1"] } ?? [:]
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
        state = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")
        attester = try InstallationAttester(stateDirectory: state)
    }

    func remove() async throws {
        try await client.shutdown()
        try? FileManager.default.removeItem(at: state)
    }

    func run(atOnce: Int, seconds: Double) async throws -> Round {
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(seconds)
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<atOnce {
                group.addTask {
                    var challenge = try await post("/v1/challenges", body: [], type: "application/json", as: Challenge.self).challenge
                    var count = 0
                    // Once at least: a slow machine must not leave a round without an operation.
                    repeat {
                        challenge = try await attest(challenge)
                        count += 1
                    } while clock.now < end
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
        return Round(value: Double(count) / ((clock.now - start) / .seconds(1)), operations: count)
    }

    private func attest(_ challenge: String) async throws -> String {
        let evidence = try await attester.evidence(
            for: EvidenceRequest(
                challenge: challenge, audience: authority, account: account, host: "localhost",
                payHash: Binding.payHash(of: ProtectedApp.authorization), sdkVersion: "benchmark", configVersion: version))
        return try await post("/v1/attestations", body: Array(evidence.utf8), type: Evidence.mediaType, as: Result.self).challenge.challenge
    }

    private func post<Answer: Decodable>(_ path: String, body: [UInt8], type: String, as answer: Answer.Type) async throws -> Answer {
        var request = HTTPClientRequest(url: authority + path)
        request.method = .POST
        request.headers.add(name: "Content-Type", value: type)
        request.body = .bytes(body)
        let response = try await client.execute(request, timeout: .seconds(30))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else { throw BenchmarkError("the authority answered \(path) with \(response.status)") }
        return try JSONDecoder().decode(answer, from: Data(bytes.readableBytesView))
    }
}
