import Approov
import ApproovServer
import CertificatePinning
import Foundation
import FoundationNetworking
import OHTTP

/// Requests over relay and gateway beside the same requests sent direct, all on loopback; and 1 GiB each way in chunks, with the memory that
/// each hop takes for it.
struct ObliviousBenchmark {
    static let requests = 10_000
    /// What the path takes for each of its two further hops, if that hop does nothing: the relay answers `GET /health` itself.
    static let oneHop = "to the relay alone"

    let options: Options

    func run() async throws -> [Figure] {
        try await load() + gibibyte()
    }

    /// Requests in numbers.
    private func load() async throws -> [Figure] {
        let path = try ObliviousPath()
        defer { path.stop() }
        guard let url = URL(string: path.api.url + "/five"), let health = URL(string: path.relay.url + "/health") else {
            throw BenchmarkError("no URL")
        }
        let direct = try ApproovSession(service: nil, trustManager: path.trust)
        var figures: [Figure] = []
        for atOnce in [1, 16, 64] {
            var routes: [(String, ApproovSession, any MeasuredProcess)] = [
                ("over relay and gateway", path.session, OwnProcess()), ("direct", direct, OwnProcess()),
            ]
            if options.costs {
                routes += [("relay", path.session, path.relay.process), ("gateway", path.session, path.gateway.process)]
            }
            var subjects = routes.map { name, session, process in
                let client = ApproovSessionClient(session: session, request: URLRequest(url: url))
                return Subject(name, in: process) { try await client.rate(atOnce: atOnce, seconds: options.seconds) }
            }
            let hop = HealthClient(session: direct, url: health)
            subjects.append(
                Subject(Self.oneHop, isPeer: true) { try await hop.rate(atOnce: atOnce, seconds: options.seconds) })
            figures += try await Comparison(group: "oblivious", scenario: "\(atOnce) at once", unit: .perSecond, peers: ["direct"])
                .run(subjects, options: options)
        }
        figures.append(try await latency(of: path.session, direct, URLRequest(url: url)))
        figures.append(try await tenThousand(path.session, URLRequest(url: url)))
        return figures
    }

    /// What relay and gateway add to one request at a time: the difference of the medians.
    private func latency(of oblivious: ApproovSession, _ direct: ApproovSession, _ request: URLRequest) async throws -> Figure {
        var times: [[Double]] = [[], []]
        let clients = [oblivious, direct].map { ApproovSessionClient(session: $0, request: request) }
        let end = ContinuousClock.now + .seconds(options.seconds * Double(options.rounds))
        repeat {
            for (index, client) in clients.enumerated() { times[index].append(try await seconds { try await client.get() }) }
        } while ContinuousClock.now < end
        return Figure(
            group: "oblivious", scenario: "1 at once", name: "added latency", value: (median(times[0]) - median(times[1])) * 1_000,
            unit: .milliseconds)
    }

    /// Ten thousand requests at 64 at once: how many came back as they should.
    private func tenThousand(_ session: ApproovSession, _ request: URLRequest) async throws -> Figure {
        let client = ApproovSessionClient(session: session, request: request)
        let answered = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<64 {
                group.addTask {
                    var answered = 0
                    for _ in stride(from: worker, to: Self.requests, by: 64) {
                        if (try? await client.get()) != nil { answered += 1 }
                    }
                    return answered
                }
            }
            return await group.reduce(0, +)
        }
        return Figure(
            group: "oblivious", scenario: "64 at once", name: "answered of \(Self.requests)", value: Double(answered), unit: .count)
    }

    /// 1 GiB down and up in chunks, over a relay and a gateway that have done nothing else.
    private func gibibyte() async throws -> [Figure] {
        let path = try ObliviousPath()
        defer { path.stop() }
        let session = path.session
        guard let down = URL(string: path.api.url + "/zeros?\(StreamBenchmark.bytes)"), let sink = URL(string: path.api.url + "/sink")
        else {
            throw BenchmarkError("no URL")
        }
        let hops: [(String, any MeasuredProcess)] = [
            ("app", OwnProcess()), ("relay", path.relay.process), ("gateway", path.gateway.process),
        ]
        let mebibytes = StreamBenchmark.bytes >> 20
        var count = 0
        var downCosts: [Cost?] = []
        let downSeconds = try await seconds {
            downCosts = try await Cost.measure(hops.map(\.1), operations: mebibytes, options: options) {
                let (bytes, _) = try await session.bytes(for: URLRequest(url: down))
                for try await chunk in bytes.chunks { count += chunk.count }
            }
        }
        guard count == StreamBenchmark.bytes else { throw BenchmarkError("the download moved \(count) bytes") }
        let file = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try FileHandle(forWritingTo: file).truncate(atOffset: UInt64(StreamBenchmark.bytes))  // sparse: takes no room
        var request = URLRequest(url: sink)
        request.httpMethod = "POST"
        var upCosts: [Cost?] = []
        let upSeconds = try await seconds {
            upCosts = try await Cost.measure(hops.map(\.1), operations: mebibytes, options: options) {
                let (data, _) = try await session.upload(for: request, fromFile: file)
                count = Int(String(decoding: data, as: UTF8.self)) ?? 0
            }
        }
        guard count == StreamBenchmark.bytes else { throw BenchmarkError("the upload moved \(count) bytes") }
        let transfers = [("download", downSeconds, downCosts), ("upload", upSeconds, upCosts)]
        let speeds = transfers.flatMap { scenario, seconds, costs in
            let speed = Double(mebibytes) / seconds
            return [Figure(group: "oblivious", scenario: scenario, name: "1 GiB in chunks", value: speed, unit: .speed)]
                + zip(hops, costs).filter { $0.1 != nil }.map { hop, cost in
                    Figure(group: "oblivious", scenario: scenario, name: hop.0, value: speed, unit: .speed, cost: cost)
                }
        }
        let peaks = try [
            ("app", ChildProcess.peakMemory(of: "self")), ("relay", path.relay.peakMemory), ("gateway", path.gateway.peakMemory),
        ]
        return speeds
            + peaks.map { name, peak in
                Figure(group: "oblivious", scenario: "memory", name: "\(name), peak", value: peak / 1_048_576, unit: .mebibytes)
            }
    }
}

/// Asks a relay for its health.
private struct HealthClient: LoadClient {
    let session: ApproovSession
    let url: URL

    func get() async throws {
        let (_, response) = try await session.data(for: URLRequest(url: url))
        guard response.statusCode == 200 else { throw BenchmarkError("the relay answered /health with \(response.statusCode)") }
    }
}

/// An API, a gateway and a relay, each in its own process, and a session that goes over them.
private struct ObliviousPath {
    let api: HopProcess
    let gateway: HopProcess
    let relay: HopProcess
    let trust: ApproovTrustManager
    let session: ApproovSession
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "approov-benchmark-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        api = try HopProcess(.api, folder: folder)
        gateway = try HopProcess(.gateway, folder: folder, next: api.url)
        relay = try HopProcess(.relay, folder: folder, next: gateway.url.trimmingSuffix("/") + "/gateway")
        let keys = try GatewayKeyFile(folder.appending(path: "gateway.keys")).load().published.encoded()
        guard let url = URL(string: relay.url) else { throw BenchmarkError("no URL") }
        let roots = try String(contentsOf: folder.appending(path: "roots.pem"), encoding: .utf8)
        trust = ApproovTrustManager(anchors: try TrustAnchors(pem: roots))
        session = try ApproovSession(
            service: nil, trustManager: trust, obliviousRoute: ObliviousRoute(relay: url, keyConfiguration: Data(keys)))
    }

    func stop() {
        for process in [relay, gateway, api] { process.stop() }
        try? FileManager.default.removeItem(at: folder)
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String { hasSuffix(suffix) ? String(dropLast(suffix.count)) : self }
}
