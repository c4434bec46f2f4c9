import ApproovTesting
import CertificatePinning
import Testing

@Suite("TrustPolicy")
struct TrustPolicyTests {
    private let root: TestCertificate
    private let anchors: TrustAnchors
    private let rules: HostMap<TrustRule>

    init() throws {
        root = try TestPKI.root()
        anchors = try TrustAnchors(root)
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

    /// A policy for `amazonaws.com` and all names below it; among them, `s3.amazonaws.com` is a public suffix.
    private func policy(_ evaluator: any ServerTrustEvaluating, refusesUnmatchedHosts: Bool = false) throws -> TrustPolicy {
        let pattern = try HostPattern("amazonaws.com", includeSubdomains: true, excluding: ["free.s3.amazonaws.com"])
        return TrustPolicy(
            rules: try HostMap([(pattern, TrustRule(evaluators: [evaluator]))]), defaultAnchors: anchors,
            refusesUnmatchedHosts: refusesUnmatchedHosts)
    }

    @Test("A public suffix between a pattern and a host does not lift the pins", arguments: ["s3.amazonaws.com", "a.b.s3.amazonaws.com"])
    func suffixBetween(host: String) throws {
        let policy = try policy(PublicKeysTrustEvaluator(withoutBackup: [Pin(TestKey())]))
        #expect(try policy.hasRule(for: CanonicalHost(host)))
        let rule = try policy.rule(for: CanonicalHost(host))
        let leaf = try TestPKI.leaf(hosts: [host], issuer: root)
        #expect(try judge([leaf], host: host, rule: rule, anchors: anchors).reason == .pinMismatch)
        // The pattern excludes this host.
        #expect(try !policy.hasRule(for: CanonicalHost("free.s3.amazonaws.com")))
    }

    @Test("Across a public suffix, a pattern's rule neither disables path validation nor presents a client certificate nor admits a host")
    func acrossSuffix() throws {
        let (near, far) = (try CanonicalHost("console.amazonaws.com"), try CanonicalHost("evil.s3.amazonaws.com"))
        let disabled = try policy(DisabledTrustEvaluator())
        #expect(try !disabled.rule(for: near).validatesPath)
        #expect(try disabled.rule(for: far).validatesPath)
        #expect(!disabled.hasRule(for: far))

        let identity = try ClientIdentity(TestPKI.leaf(hosts: ["client.test"], issuer: root))
        let presenting = try policy(DefaultTrustEvaluator().presenting(identity))
        #expect(try presenting.rule(for: near).clientIdentity === identity)
        #expect(try presenting.rule(for: far).clientIdentity == nil)

        let closed = try policy(DefaultTrustEvaluator(), refusesUnmatchedHosts: true)
        #expect(closed.hasRule(for: near) && !closed.hasRule(for: far))
        let refusal = #expect(throws: TrustRefusal.self) { try closed.rule(for: far) }
        #expect(refusal?.reason == .hostNotEvaluated)
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
