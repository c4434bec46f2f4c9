import CertificatePinning

/// (d) A look-up in the host map: exact names, wildcards and misses, with 10, 1,000 and 100,000 entries.
struct HostMapBenchmark {
    let options: Options

    func run() async throws -> [Figure] {
        let sizes = [10, 1_000, 100_000]
        let maps = try sizes.map { size in try HostMap((0..<size).map { (try HostPattern(Self.pattern($0)), $0) }) }
        var figures: [Figure] = []
        let hosts = [("exact", "host8.example.com", 8), ("wildcard", "shop.host7.example.com", 7), ("miss", "unknown.example.org", nil)]
        for (scenario, host, expected) in hosts {
            let canonical = try CanonicalHost(host)
            let subjects = zip(sizes, maps).map { size, map in
                Subject("\(size) entries") {
                    guard map.value(for: canonical) == expected else {
                        throw BenchmarkError("the host map found another entry for \(host)")
                    }
                    return await nanosecondsPerCall(during: options.seconds, batch: 10_000) { blackHole(map.value(for: canonical)) }
                }
            }
            figures += try await Comparison(group: "hosts", scenario: scenario, unit: .nanoseconds, peers: ["10 entries"])
                .run(subjects, options: options)
        }
        return figures
    }

    /// Every second entry is a wildcard.
    private static func pattern(_ index: Int) -> String {
        index.isMultiple(of: 2) ? "host\(index).example.com" : "*.host\(index).example.com"
    }
}

/// Keeps a value that is not used from being optimised away.
@inline(never)
func blackHole<Value>(_: Value) {}
