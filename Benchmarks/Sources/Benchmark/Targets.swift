/// What a figure has to be: the promises that this package makes about its speed and size.
struct Target {
    enum Bound {
        /// So many times as good as a peer of the same run, at least.
        case times(Double, of: String)
        case atLeast(Double)
        case atMost(Double)
    }

    let group: Measure.Group
    let scenario: String
    let name: String
    let bound: Bound

    static let all: [Target] =
        [
            Target(group: .transport, scenario: "64 at once", name: "HTTPTransport", bound: .times(0.8, of: "C loop")),
            Target(group: .transport, scenario: "64 at once", name: "HTTPTransport", bound: .times(1.7, of: "AsyncHTTPClient")),
            Target(group: .transport, scenario: "64 at once", name: "ApproovSession", bound: .times(1.3, of: "AsyncHTTPClient")),
            Target(group: .transport, scenario: "64 at once", name: "ApproovSession", bound: .times(5, of: "URLSession")),
            Target(
                group: .first, scenario: FirstCallBenchmark.scenario, name: FirstCallBenchmark.name,
                bound: .times(1.0 / 5, of: FirstCallBenchmark.peer)),
            Target(group: .upload, scenario: "1 GiB", name: "HTTPTransport", bound: .times(0.9, of: "C loop")),
            Target(group: .upload, scenario: "1 GiB", name: "ApproovSession", bound: .times(0.9, of: "C loop")),
            Target(group: .memory, scenario: MemoryBenchmark.oneCall, name: MemoryBenchmark.addition, bound: .atMost(10)),
            Target(group: .tokens, scenario: "HS256 check", name: "ApproovTokens", bound: .times(4, of: "jwt-kit")),
            Target(group: .tokens, scenario: "HS256 check", name: "ApproovTokens, first sight", bound: .times(3, of: "jwt-kit")),
            // At most 1.5 times, and 1.25 times, what the bare operations take.
            Target(
                group: .signatures, scenario: SignatureBenchmark.sign, name: SignatureBenchmark.ours,
                bound: .times(1 / 1.5, of: SignatureBenchmark.bare)),
            Target(
                group: .signatures, scenario: SignatureBenchmark.verify, name: SignatureBenchmark.ours,
                bound: .times(1 / 1.25, of: SignatureBenchmark.bare)),
            Target(
                group: .signatures, scenario: SignatureBenchmark.signShared, name: SignatureBenchmark.overhead, bound: .atMost(10_000)),
            // At most 3.5 verifications.
            Target(
                group: .authority, scenario: AuthorityBenchmark.processorTime(atOnce: 64), name: AuthorityBenchmark.name,
                bound: .times(1 / 3.5, of: AuthorityBenchmark.verification)),
            Target(group: .oblivious, scenario: "64 at once", name: "answered of 10000", bound: .atLeast(10_000)),
        ]
        + [1, 64].map {
            // At most 1.3 times what a bare session takes.
            Target(
                group: .client, scenario: "\($0) at once", name: ClientBenchmark.everything,
                bound: .times(1 / 1.3, of: ClientBenchmark.peer))
        }
        + ["exact", "wildcard", "miss"].flatMap { scenario in
            ["1000 entries", "100000 entries"].map {
                Target(group: .hosts, scenario: scenario, name: $0, bound: .times(0.75, of: "10 entries"))
            }
        }
        + ["P-256 path of three", "RSA 2048 path of three"].map {
            // At most a twentieth of the handshake.
            Target(group: .pinning, scenario: $0, name: "pins of the path", bound: .times(20, of: "TLS 1.3 handshake, client"))
        }
        + OHTTPBenchmark.scenarios.map {
            // At most 1.15 times what the bare operations take.
            Target(group: .ohttp, scenario: $0, name: OHTTPBenchmark.client, bound: .times(1 / 1.15, of: OHTTPBenchmark.bare))
        }
        // Less than one in two exchanges: the allocator neither maps nor gives back memory for each.
        + OHTTPBenchmark.scenariosOfDefaults.map { Target(group: .ohttp, scenario: $0, name: OHTTPBenchmark.pages, bound: .atMost(0.5)) }
        + [
            BinaryHTTPBenchmark.parseExample, BinaryHTTPBenchmark.serializeExample, BinaryHTTPBenchmark.parseRequest,
            BinaryHTTPBenchmark.serializeRequest,
        ].map {
            Target(group: .bhttp, scenario: "small message", name: $0, bound: .atLeast(800_000))
        }
        + [Target(group: .bhttp, scenario: "parse by size", name: "body of 1048576 B", bound: .times(0.8, of: "body of 0 B"))]
        + ["download", "upload"].flatMap {
            [
                Target(group: .stream, scenario: $0, name: "peak resident memory", bound: .atMost(64)),
                Target(group: .stream, scenario: $0, name: "growth after the first 64 MiB", bound: .atMost(1)),
            ]
        }
        + ["app", "relay", "gateway"].map { Target(group: .oblivious, scenario: "memory", name: "\($0), peak", bound: .atMost(96)) }

    /// What figures make of the targets of their groups.
    /// - Returns: A line for each target, and whether all are met; a figure that is missing is a target missed.
    static func judge(_ figures: [Figure], of groups: [Measure.Group]) -> (lines: [String], areMet: Bool) {
        let verdicts = all.filter { groups.contains($0.group) }.map { $0.verdict(among: figures) }
        return (verdicts.map(\.line), verdicts.allSatisfy(\.isMet))
    }

    private func verdict(among figures: [Figure]) -> (line: String, isMet: Bool) {
        let figure = figures.first { $0.group == group.rawValue && $0.scenario == scenario && $0.name == name }
        let value: Double?
        let isMet: Bool
        let wanted: String
        switch bound {
        case .times(let factor, let peer):
            value = figure?.ratios[peer]
            isMet = (value ?? 0) >= factor
            wanted = "at least \(Report.decimals(factor))x \(peer)"
        case .atLeast(let least):
            // What else the machine does takes from a rate and adds nothing, and there is no peer that it would fall on alike.
            value = figure?.rounds.max()
            isMet = (value ?? 0) >= least
            wanted = "at least \(Report.decimals(least))"
        case .atMost(let most):
            value = figure?.value
            isMet = (value ?? .infinity) <= most
            wanted = "at most \(Report.decimals(most))"
        }
        let had = value.map(Report.decimals) ?? "not measured"
        return ("\(isMet ? "met   " : "MISSED")  \(group.rawValue), \(scenario), \(name): \(had), wanted \(wanted)", isMet)
    }
}
