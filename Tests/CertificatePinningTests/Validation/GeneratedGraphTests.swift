import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("A generated graph is trusted if and only if OpenSSL verifies one of its paths")
struct GeneratedGraphTests {
    private let time = Date()

    /// Uses a clock on which every step takes 0.1 ms, the time of a signature, on any machine.
    private func judge(_ chain: [Certificate], _ anchors: TrustAnchors) throws -> Result<ServerTrust, TrustRefusal> {
        let clock = SteppingClock(step: .microseconds(100))
        return try ChainValidator.evaluate(
            chain: chain, host: CanonicalHost(GraphMint.host), rule: .pathValidation, defaultAnchors: anchors, time: time,
            searchLimit: PathSearchLimit(uptime: { clock.uptime }))
    }

    @Test(
        "500 graphs of up to 20 certificates get an exhaustive search's verdict, in several orders", arguments: GraphPlan.Kind.allCases)
    func generated(kind: GraphPlan.Kind) throws {
        let seed = UInt64(GraphPlan.Kind.allCases.firstIndex(of: kind) ?? 0)
        let mint = try GraphMint()
        let foreign = try Certificate(TestPKI.root("Foreign"))
        var random = SeededGenerator(seed: seed)
        var counts: [Bool: Int] = [:]
        for number in 0..<[168, 166, 166][Int(seed)] {
            let graph = try mint.mint(GraphPlan(kind, using: &random))
            // A graph may have no root. The foreign root leads nowhere.
            let anchors = try TrustAnchors(certificates: graph.trusted + [foreign])
            let expected = ExhaustiveSearch(graph: graph, time: time).findsPath()
            counts[expected, default: 0] += 1
            let sent = graph.sent
            let orders = sent.count <= 4 ? Self.permutations(sent) : (0..<3).map { _ in sent.shuffled(using: &random) }
            for order in orders {
                let result = try judge([graph.leaf] + order, anchors)
                #expect(result.isTrusted == expected, "\(kind) \(number): \(result.refusal?.description ?? "trusted")")
                // Without the certificates beside it, the accepted path is the one that OpenSSL builds.
                if let path = try? result.get().chain {
                    let alone = try TrustAnchors(certificates: Array(path.suffix(1)))
                    #expect(try judge(Array(path.dropLast()), alone).isTrusted)
                }
            }
        }
        #expect(counts[true, default: 0] > 40 && counts[false, default: 0] > 20, "\(counts)")
    }

    private static func permutations(_ certificates: [Certificate]) -> [[Certificate]] {
        guard !certificates.isEmpty else { return [[]] }
        return certificates.indices.flatMap { index in
            var others = certificates
            let first = others.remove(at: index)
            return permutations(others).map { [first] + $0 }
        }
    }
}
