import ApproovTesting
import CertificatePinning
import Foundation
import Synchronization
import Testing

@Suite("ReportOnlyTrustEvaluator, and the observer of a rule")
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

    @Test("what it would refuse is trusted, and the observer is told with the validated path")
    func reports() throws {
        let wrong = try ReportOnlyTrustEvaluator(pins(TestKey()))
        #expect(try judge([leaf], rule: rule(wrong), anchors: TrustAnchors(root)).isTrusted)
        let violation = try #require(violations.all.first)
        #expect(violations.all.count == 1)
        #expect(violation.refusal.reason == .pinMismatch && !violation.isEnforced && violation.isPathValidated)
        #expect(violation.host.name == "api.test" && violation.port == nil)
        #expect(violation.certificates.map(\.der) == [leaf.der, root.der])
    }

    @Test("what it would trust is no news")
    func quiet() throws {
        #expect(try judge([leaf], rule: rule(ReportOnlyTrustEvaluator(pins(leaf.key))), anchors: TrustAnchors(root)).isTrusted)
        #expect(violations.all.isEmpty)
    }

    @Test("what it could not judge without look-ups is trusted, and reported as such")
    func needsLookups() throws {
        #expect(try judge([leaf], rule: rule(ReportOnlyTrustEvaluator(Needing())), anchors: TrustAnchors(root)).isTrusted)
        let violation = try #require(violations.all.first)
        #expect(violations.all.count == 1)
        #expect(violation.refusal.reason == .lookupsUnavailable && !violation.isEnforced)
        // No look-up may start that no caller waits for.
        #expect(violation.refusal.lookups.isEmpty)
    }

    @Test("path validation still decides, also around a DisabledTrustEvaluator")
    func pathDecides() throws {
        let stranger = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        for evaluator in [ReportOnlyTrustEvaluator(try pins(stranger.key)), ReportOnlyTrustEvaluator(DisabledTrustEvaluator())] {
            #expect(try judge([stranger], rule: rule(evaluator), anchors: TrustAnchors(root)).reason == .selfSigned)
        }
        #expect(violations.all.map(\.refusal.reason) == [.selfSigned, .selfSigned])
        #expect(violations.all.allSatisfy { $0.isEnforced && !$0.isPathValidated && $0.certificates.count == 1 })
    }

    @Test("beside an evaluator that is obeyed it changes nothing, and the observer hears of both")
    func beside() throws {
        let rule = rule(try ReportOnlyTrustEvaluator(pins(TestKey())), try pins(TestKey()))
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(root)).reason == .pinMismatch)
        #expect(violations.all.map(\.isEnforced) == [false, true])
    }

    @Test("of a hundred certificates sent, the observer gets fourteen, and the refusal says how many there are")
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
