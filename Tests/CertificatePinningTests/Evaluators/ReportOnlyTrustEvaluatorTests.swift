import ApproovTesting
import CertificatePinning
import Foundation
import Synchronization
import Testing

@Suite("ReportOnlyTrustEvaluator and a rule's observer")
struct ReportOnlyTrustEvaluatorTests {
    private final class Violations: Sendable {
        private let list = Mutex<[TrustViolation]>([])
        var all: [TrustViolation] { list.withLock { $0 } }
        func add(_ violation: TrustViolation) { list.withLock { $0.append(violation) } }
    }

    private struct Needing: ServerTrustEvaluating {
        func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
            .needs([TrustLookup(kind: .crl, url: "http://crl.test/")])
        }
    }

    private let root: TestCertificate
    private let leaf: TestCertificate
    private let violations = Violations()

    init() throws {
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
    }

    private func rule(_ evaluators: any ServerTrustEvaluating...) -> TrustRule {
        TrustRule(evaluators: evaluators, observer: { [violations] in violations.add($0) })
    }

    private func pins(_ keys: TestKey...) throws -> PublicKeysTrustEvaluator {
        try PublicKeysTrustEvaluator(withoutBackup: Set(keys.map { try Pin($0) }))
    }

    @Test("A server that the inner evaluator refuses is trusted, and the observer gets the validated path")
    func reports() throws {
        let wrong = try ReportOnlyTrustEvaluator(pins(TestKey()))
        #expect(try judge([leaf], rule: rule(wrong), anchors: TrustAnchors(root)).isTrusted)
        let violation = try #require(violations.all.first)
        #expect(violations.all.count == 1)
        #expect(violation.refusal.reason == .pinMismatch && !violation.isEnforced && violation.isPathValidated)
        #expect(violation.host.name == "api.test" && violation.port == nil)
        #expect(violation.certificates.map(\.der) == [leaf.der, root.der])
    }

    @Test("The observer hears nothing of a server that the inner evaluator trusts")
    func quiet() throws {
        #expect(try judge([leaf], rule: rule(ReportOnlyTrustEvaluator(pins(leaf.key))), anchors: TrustAnchors(root)).isTrusted)
        #expect(violations.all.isEmpty)
    }

    @Test("If the inner evaluator needs look-ups, the server is trusted and the observer is told")
    func needsLookups() throws {
        #expect(try judge([leaf], rule: rule(ReportOnlyTrustEvaluator(Needing())), anchors: TrustAnchors(root)).isTrusted)
        let violation = try #require(violations.all.first)
        #expect(violations.all.count == 1)
        #expect(violation.refusal.reason == .lookupsUnavailable && !violation.isEnforced)
        // It must not start a look-up whose result no caller awaits.
        #expect(violation.refusal.lookups.isEmpty)
    }

    @Test("An inner evaluator that needs look-ups and names none is reported as one that failed")
    func needsNothing() throws {
        let needing = ReportOnlyTrustEvaluator(evaluator { _, _ in .needs([]) })
        #expect(try judge([leaf], rule: rule(needing), anchors: TrustAnchors(root)).isTrusted)
        #expect(violations.all.map(\.refusal.reason) == [.evaluatorFailed])
    }

    @Test("Path validation still refuses a server, even with a DisabledTrustEvaluator inside")
    func pathDecides() throws {
        let stranger = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        for evaluator in [ReportOnlyTrustEvaluator(try pins(stranger.key)), ReportOnlyTrustEvaluator(DisabledTrustEvaluator())] {
            #expect(try judge([stranger], rule: rule(evaluator), anchors: TrustAnchors(root)).reason == .selfSigned)
        }
        #expect(violations.all.map(\.refusal.reason) == [.selfSigned, .selfSigned])
        #expect(violations.all.allSatisfy { $0.isEnforced && !$0.isPathValidated && $0.certificates.count == 1 })
    }

    @Test("An enforced evaluator beside it still refuses, and the observer hears of both violations")
    func beside() throws {
        let rule = rule(try ReportOnlyTrustEvaluator(pins(TestKey())), try pins(TestKey()))
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(root)).reason == .pinMismatch)
        #expect(violations.all.map(\.isEnforced) == [false, true])
    }

    @Test("Of 100 presented certificates, the observer receives 14, and the refusal counts the rest")
    func bounded() throws {
        let stranger = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        let many = try [stranger] + (0..<99).map { _ in try TestPKI.root() }
        #expect(try judge(many, rule: rule(), anchors: TrustAnchors(root)).refusal != nil)
        #expect(violations.all.map(\.certificates.count) == [14])
        let refusal = try #require(violations.all.first?.refusal)
        #expect(refusal.presented.count == 14 && refusal.omittedCount == 86)
        #expect(refusal.description.hasSuffix(" and 86 more"))
    }
}
