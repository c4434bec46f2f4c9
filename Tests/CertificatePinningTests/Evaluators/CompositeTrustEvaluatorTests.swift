import ApproovTesting
import CertificatePinning
import Testing

// Acceptance list: S1.27, S1.31, S2.76
@Suite("CompositeTrustEvaluator and custom evaluators")
struct CompositeTrustEvaluatorTests {
    private let root: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
    }

    private func reason(_ evaluators: any ServerTrustEvaluating...) throws -> TrustRefusal? {
        try judge([leaf], rule: TrustRule(evaluators: [CompositeTrustEvaluator(evaluators: evaluators)]), anchors: TrustAnchors(root))
            .refusal
    }

    private static func refusing(_ reason: TrustRefusal.Reason) -> ClosureTrustEvaluator {
        evaluator { trust, host in .refused(TrustRefusal(reason, trust: trust, detail: "refused for \(host)")) }
    }

    @Test("A closure can be an evaluator, and receives the validated path and the host")
    func closure() throws {
        let seen = evaluator { trust, host in
            trust.chain.count == 2 && host == "api.test" && trust.isPathValidated
                ? .trusted : .refused(TrustRefusal(.other, trust: trust, detail: "unexpected"))
        }
        #expect(try reason(seen) == nil)
        #expect(try reason(Self.refusing(.evaluatorFailed))?.detail == "refused for api.test")
    }

    @Test("All evaluators must trust the server, and the composite reports the first refusal")
    func all() throws {
        #expect(try reason(DefaultTrustEvaluator(), DefaultTrustEvaluator()) == nil)
        #expect(try reason() == nil)
        #expect(try reason(DefaultTrustEvaluator(), Self.refusing(.revoked), Self.refusing(.other))?.reason == .revoked)
    }

    @Test("The composite requests all look-ups together, each one once, and none if an evaluator refuses")
    func needs() throws {
        let (one, two) = (TrustLookup(kind: .ocsp, url: "http://one.test"), TrustLookup(kind: .crl, url: "http://two.test"))
        let (first, second) = (evaluator { _, _ in .needs([one]) }, evaluator { _, _ in .needs([one, two]) })
        #expect(try reason(first, second)?.lookups == [one, two])
        let refusal = try reason(first, Self.refusing(.revoked), second)
        #expect(refusal?.reason == .revoked && refusal?.lookups.isEmpty == true)
    }

    @Test("An evaluator that needs look-ups and names none refuses the server, alone and among others")
    func needsNothing() throws {
        let needing = evaluator { _, _ in .needs([]) }
        let named = evaluator { _, _ in .needs([TrustLookup(kind: .ocsp, url: "http://one.test")]) }
        let alone = try judge([leaf], rule: TrustRule(evaluators: [needing]), anchors: TrustAnchors(root)).refusal
        let nested = try reason(DefaultTrustEvaluator(), CompositeTrustEvaluator(evaluators: [needing]))
        for refusal in try [alone, nested, reason(needing), reason(needing, DefaultTrustEvaluator()), reason(named, needing)] {
            #expect(refusal?.reason == .evaluatorFailed && refusal?.lookups.isEmpty == true)
            #expect(refusal?.detail.contains("needs look-ups and names none") == true)
        }
    }

    @Test("A report-only evaluator accepts the server, but another evaluator can still refuse it")
    func reports() throws {
        let reporting = ReportOnlyTrustEvaluator(Self.refusing(.pinMismatch))
        #expect(try reason(reporting, DefaultTrustEvaluator()) == nil)
        #expect(try reason(reporting, Self.refusing(.revoked))?.reason == .revoked)
    }

    @Test("A disabled evaluator inside a composite does not disable path validation")
    func disabled() throws {
        let composite = CompositeTrustEvaluator(evaluators: [DisabledTrustEvaluator()])
        let rule = TrustRule(evaluators: [composite])
        #expect(rule.validatesPath)
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(TestPKI.root("Other"))).reason == .incompletePath)
    }

    @Test("Nested composites combine the conditions of all their evaluators")
    func conditions() throws {
        let anchors = try TrustAnchors(root)
        let inner = CompositeTrustEvaluator(evaluators: [try DefaultTrustEvaluator().anchored(by: anchors), RevocationTrustEvaluator()])
        let rule = TrustRule(evaluators: [CompositeTrustEvaluator(evaluators: [inner, DefaultTrustEvaluator()])])
        #expect(rule.anchors === anchors)
        #expect(rule.requestsStatus)
        #expect(rule.flaw == nil)
    }

    @Test("Two evaluators with different roots are a configuration mistake that refuses every server")
    func conflict() throws {
        let one = try DefaultTrustEvaluator().anchored(by: TrustAnchors(root))
        let two = try DefaultTrustEvaluator().anchored(by: TrustAnchors(root))
        let rule = TrustRule(evaluators: [CompositeTrustEvaluator(evaluators: [one, two])])
        #expect(rule.flaw?.code == .conflictingConditions)
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(root)).reason == .evaluatorFailed)
        let policy = TrustPolicy(rules: try HostMap([(HostPattern("api.test"), rule)]), defaultAnchors: try TrustAnchors(root))
        let host = try CanonicalHost("api.test")
        let refusal = #expect(throws: TrustRefusal.self) { try policy.rule(for: host) }
        #expect(refusal?.reason == .evaluatorFailed)
    }
}
