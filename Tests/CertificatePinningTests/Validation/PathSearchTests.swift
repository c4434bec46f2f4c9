import ApproovTesting
import COpenSSL
import Foundation
import Testing

@testable import CertificatePinning

@Suite("The search for other paths is bounded")
struct PathSearchTests {
    /// Seven authorities, each above the next, with two certificates each: 128 paths to the root.
    private static func manyPaths(flaw: GraphPlan.Flaw? = nil) throws -> GraphMint.Graph {
        let nodes = (0..<7).flatMap { level in
            (0..<2).map { _ in GraphPlan.Node(name: level, key: level, issuer: (level + 1, level + 1)) }
        }
        let root = GraphPlan.Node(name: 7, key: 7, flaw: flaw, isTrusted: true, isSent: false)
        return try GraphMint().mint(GraphPlan(nodes + [root], leafIssuer: (0, 0)))
    }

    private static func search(
        _ graph: GraphMint.Graph, _ limit: PathSearchLimit, permits: (Certificate) -> Bool = { _ in true },
        signs: (Certificate, Certificate) -> Bool = PathGraph.signs
    ) -> PathSearch {
        var budget = PathSearchBudget(limit)
        let rules = IssuerRules(time: time_t(Date().timeIntervalSince1970))
        let made = PathGraph(
            sent: [graph.leaf] + graph.sent, trusted: graph.trusted, rules: rules, budget: &budget, permits: permits,
            signs: signs)
        return PathSearch(made, budget: budget)
    }

    @Test("By default the search tries at most 64 paths and begins no step after 100 ms")
    func defaults() {
        #expect(PathSearchLimit().paths == 64)
        #expect(PathSearchLimit().time == .milliseconds(100))
        #expect(PathSearchLimit.systemUptime() > .zero)
    }

    @Test("The search tries no more paths than its limit", arguments: [(64, 64, true), (127, 127, true), (128, 128, false), (0, 0, true)])
    func paths(limit: Int, tried: Int, isExhausted: Bool) throws {
        var search = try Self.search(Self.manyPaths(), PathSearchLimit(paths: limit, uptime: { .zero }))
        var seen: Set<[[UInt8]]> = []
        let found = search.first { path -> Int? in
            seen.insert(path.map(\.der))
            return nil
        }
        #expect(found == nil)
        #expect(seen.allSatisfy { $0.count == 9 })
        #expect(seen.count == tried)
        #expect(search.budget.triedCount == tried && search.budget.isExhausted == isExhausted)
    }

    @Test("The first path that verifies ends the search")
    func firstIsFinal() throws {
        var search = try Self.search(Self.manyPaths(), PathSearchLimit(uptime: { .zero }))
        var count = 0
        let found = search.first { path -> Int? in
            count += 1
            return count == 5 ? path.count : nil
        }
        #expect(found == 9 && count == 5 && !search.budget.isExhausted)
    }

    @Test("The search begins no path after 100 ms")
    func time() throws {
        let clock = SteppingClock()
        var search = try Self.search(Self.manyPaths(), PathSearchLimit(uptime: { clock.uptime }))
        var count = 0
        let found = search.first { _ -> Int? in
            count += 1
            clock.advance(by: .milliseconds(40))
            return nil
        }
        // At 0, 40 and 80 ms.
        #expect(found == nil && count == 3 && search.budget.isExhausted)
    }

    @Test("The time limit includes the time spent looking for issuers", arguments: [1, 3, 10, 20])
    func timeOfTheGraph(milliseconds: Int) throws {
        let clock = SteppingClock(step: .milliseconds(milliseconds))
        var search = try Self.search(Self.manyPaths(), PathSearchLimit(uptime: { clock.uptime }))
        #expect(search.first { _ -> Int? in nil } == nil)
        #expect(search.budget.isExhausted)
        #expect(clock.readings <= 100 / milliseconds + 2)
    }

    @Test("A signature is verified only if verified signatures join its issuer to a root")
    func signatures() throws {
        // Two authorities certify each other, with four certificates each.
        let circle = (0..<4).flatMap { _ in
            [GraphPlan.Node(name: 0, key: 0, issuer: (1, 1)), GraphPlan.Node(name: 1, key: 1, issuer: (0, 0))]
        }
        let root = GraphPlan.Node(name: 2, key: 2, isTrusted: true, isSent: false)
        // Its issuer has the root's name and another key.
        let forged = GraphPlan.Node(name: 1, key: 1, issuer: (2, 3))
        for (nodes, verified) in [(circle, 0), (circle + [root], 0), (circle + [forged, root], 1)] {
            let graph = try GraphMint().mint(GraphPlan(nodes, leafIssuer: (0, 0), hasKeyIdentifiers: false))
            var count = 0
            var search = Self.search(
                graph, .untimed,
                signs: { issuer, subject in
                    count += 1
                    return PathGraph.signs(issuer, subject)
                })
            #expect(search.first { _ -> Int? in nil } == nil)
            #expect(count == verified && search.budget.triedCount == 0 && !search.budget.isExhausted)
        }
    }

    @Test("The names are not checked against an issuer that no verified signature joins to the server and to a root")
    func unrootedConstraints() throws {
        let excluding = GraphPlan.Node(name: 0, key: 0, issuer: (1, 1), flaw: .excludesHost)
        let plans = [
            // Its issuer is missing.
            GraphPlan([excluding], leafIssuer: (0, 0)),
            // The root of that name did not sign it.
            GraphPlan(
                [excluding, .init(name: 1, key: 2, isTrusted: true, isSent: false)], leafIssuer: (0, 0), hasKeyIdentifiers: false),
            // A trusted root has constraints, and did not sign the server's certificate.
            GraphPlan(
                [.init(name: 0, key: 1, flaw: .excludesHost, isTrusted: true, isSent: false)], leafIssuer: (0, 0),
                hasKeyIdentifiers: false),
            // A trusted root with constraints signed an authority, which did not sign the server's certificate.
            GraphPlan(
                [
                    .init(name: 0, key: 1, issuer: (1, 2)),
                    .init(name: 1, key: 2, flaw: .excludesHost, isTrusted: true, isSent: false),
                ], leafIssuer: (0, 0), hasKeyIdentifiers: false),
        ]
        for plan in plans {
            let graph = try GraphMint().mint(plan)
            var count = 0
            var search = Self.search(graph, .untimed) { _ in
                count += 1
                return true
            }
            #expect(search.first { _ -> Int? in nil } == nil)
            #expect(count == 0 && search.budget.triedCount == 0 && !search.budget.isExhausted)
        }
    }

    @Test("The names are checked once against each issuer with name constraints, and no path goes through one that excludes them")
    func constraintsOnce() throws {
        let graph = try Self.manyPaths(flaw: .excludesBehindWildcard)
        for (isPermitted, tried) in [(true, 64), (false, 0)] {
            var judged: [[UInt8]] = []
            var search = Self.search(graph, .untimed) { issuer in
                judged.append(issuer.der)
                return isPermitted
            }
            #expect(search.first { _ -> Int? in nil } == nil)
            #expect(judged == graph.trusted.map(\.der))
            #expect(search.budget.triedCount == tried)
        }
    }

    @Test("The time limit includes the time spent checking names")
    func timeOfTheNames() throws {
        let clock = SteppingClock()
        var search = try Self.search(Self.manyPaths(flaw: .excludesBehindWildcard), PathSearchLimit(uptime: { clock.uptime })) { _ in
            clock.advance(by: .milliseconds(100))
            return true
        }
        #expect(search.first { _ -> Int? in nil } == nil)
        #expect(search.budget.triedCount == 0 && search.budget.isExhausted)
    }

    @Test("When the limit is reached, the refusal says so, with the reason of OpenSSL's first path")
    func message() throws {
        // OpenSSL prefers the trusted root, which has expired, to its twin that another root certified.
        let graph = try GraphMint().mint(
            GraphPlan(
                [
                    .init(name: 0, key: 0, flaw: .expired, isTrusted: true, isSent: false), .init(name: 0, key: 0, issuer: (1, 1)),
                    .init(name: 1, key: 1, isTrusted: true, isSent: false),
                ], leafIssuer: (0, 0)))
        let judge = { (limit: PathSearchLimit) in
            try ChainValidator.evaluate(
                chain: [graph.leaf] + graph.sent, host: CanonicalHost(GraphMint.host), rule: .pathValidation,
                defaultAnchors: TrustAnchors(certificates: graph.trusted), time: Date(), searchLimit: limit)
        }
        #expect(try judge(PathSearchLimit(uptime: { .zero })).isTrusted)
        for limit in [PathSearchLimit(paths: 0, uptime: { .zero }), PathSearchLimit(time: .zero, uptime: { .zero })] {
            let refusal = try #require(try judge(limit).refusal)
            #expect(refusal.reason == .expired)
            #expect(refusal.detail.contains("the limit for other paths was reached"))
        }
    }

    @Test("The search does not follow half a million paths without a root one by one")
    func deadEnds() throws {
        let nodes = (0..<12).flatMap { level in
            (0..<3).map { _ in GraphPlan.Node(name: level, key: level, issuer: (level + 1, level + 1)) }
        }
        let graph = try GraphMint().mint(GraphPlan(nodes, leafIssuer: (0, 0)))
        let clock = SteppingClock()
        var search = Self.search(graph, PathSearchLimit(uptime: { clock.uptime }))
        #expect(search.first { _ -> Int? in nil } == nil)
        #expect(!search.budget.isExhausted && clock.readings < 500)
    }
}
