import ApproovTesting
import CertificatePinning
import Testing

@Suite("TrustPolicy")
struct TrustPolicyTests {
    private let anchors: TrustAnchors
    private let rules: HostMap<TrustRule>

    init() throws {
        anchors = try TrustAnchors(TestPKI.root())
        rules = try HostMap([(HostPattern("*.a.test"), TrustRule(evaluators: [DisabledTrustEvaluator()]))])
    }

    @Test("Each policy has its own generation, higher than all earlier ones")
    func generations() async {
        let policies = await withTaskGroup(of: UInt64.self) { group in
            for _ in 0..<200 { group.addTask { TrustPolicy(rules: rules, defaultAnchors: anchors).generation } }
            return await group.reduce(into: [UInt64]()) { $0.append($1) }
        }
        #expect(Set(policies).count == 200)
        #expect(TrustPolicy(rules: rules, defaultAnchors: anchors).generation > policies.max() ?? 0)
    }

    @Test("A host without a rule gets path validation only", arguments: ["x.y.a.test", "a.test", "evila.test"])
    func unmatched(host: String) throws {
        let policy = TrustPolicy(rules: rules, defaultAnchors: anchors)
        let rule = try policy.rule(for: CanonicalHost(host))
        #expect(rule.evaluators.isEmpty && rule.validatesPath)
        #expect(try !policy.hasRule(for: CanonicalHost(host)))
        #expect(try policy.hasRule(for: CanonicalHost("x.a.test")))
    }

    @Test("With refusesUnmatchedHosts, a policy refuses hosts without a rule, and the refusal names the host")
    func refusesUnmatched() throws {
        let policy = TrustPolicy(rules: rules, defaultAnchors: anchors, refusesUnmatchedHosts: true)
        let host = try CanonicalHost("b.test")
        let refusal = #expect(throws: TrustRefusal.self) { try policy.rule(for: host) }
        #expect(refusal?.reason == .hostNotEvaluated)
        #expect(refusal?.description.contains("b.test") == true)
        #expect(try policy.rule(for: CanonicalHost("x.a.test")).evaluators.count == 1)
    }

    @Test("Only a rule with exactly one disabled evaluator skips path validation")
    func validatesPath() {
        #expect(!TrustRule(evaluators: [DisabledTrustEvaluator()]).validatesPath)
        #expect(TrustRule(evaluators: []).validatesPath)
        #expect(TrustRule(evaluators: [DefaultTrustEvaluator()]).validatesPath)
        #expect(TrustRule(evaluators: [DisabledTrustEvaluator(), DisabledTrustEvaluator()]).validatesPath)
        #expect(TrustRule(evaluators: [DisabledTrustEvaluator(), DefaultTrustEvaluator()]).validatesPath)
    }
}
