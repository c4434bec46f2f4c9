import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("Roots and client certificates for one host")
struct ConditionedTrustEvaluatorTests {
    private let own: TestCertificate
    private let leaf: TestCertificate
    private let usual: TestCertificate

    init() throws {
        own = try TestPKI.root("Own Root")
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: own)
        usual = try TestPKI.root("Usual Root")
    }

    @Test("A host's own roots replace the default roots for that host")
    func replacing() throws {
        let rule = TrustRule(evaluators: [try DefaultTrustEvaluator().anchored(by: TrustAnchors(own))])
        #expect(try judge([leaf], anchors: TrustAnchors(usual)).reason == .incompletePath)
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(usual)).isTrusted)
        let elsewhere = try TestPKI.leaf(hosts: ["api.test"], issuer: usual)
        #expect(try judge([elsewhere], rule: rule, anchors: TrustAnchors(usual)).reason == .incompletePath)
    }

    @Test("An evaluator with its own roots still checks its pins")
    func judging() throws {
        let pins = try PublicKeysTrustEvaluator(withoutBackup: [usual.pin])
        let rule = TrustRule(evaluators: [try pins.anchored(by: TrustAnchors(own))])
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(usual)).reason == .pinMismatch)
    }

    @Test("Own roots can be added to the system's roots")
    func besideSystem() throws {
        let system = try TrustAnchors.system()
        let rule = TrustRule(evaluators: [try DefaultTrustEvaluator().anchored(by: TrustAnchors(own), besideSystem: true)])
        #expect(rule.anchors?.count == system.count + 1)
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(usual)).isTrusted)
    }

    @Test("The roots of a rule take precedence over the roots of its evaluator")
    func ruleFirst() throws {
        let rule = TrustRule(evaluators: [try DefaultTrustEvaluator().anchored(by: TrustAnchors(usual))], anchors: try TrustAnchors(own))
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(usual)).isTrusted)
    }

    @Test("Roots of which none is valid are rejected when they are configured; one valid root is enough")
    func expired() throws {
        let old = try TestPKI.root("Old Root", flaws: [.expired])
        expectPinningError(.expiredAnchors) { try DefaultTrustEvaluator().anchored(by: TrustAnchors(old)) }
        let next = try TestPKI.root("Next Root", flaws: [.notYetValid])
        expectPinningError(.anchorsNotYetValid) { try DefaultTrustEvaluator().anchored(by: TrustAnchors(old, next)) }
        _ = try DefaultTrustEvaluator().anchored(by: TrustAnchors(old, own))
        let folder = try TemporaryFolder()
        try folder.write(old.pem, to: "old.pem")
        expectPinningError(.expiredAnchors) { try TrustAnchors(contentsOf: folder.path) }
        try folder.write(own.pem, to: "own.crt")
        #expect(try TrustAnchors(contentsOf: folder.path).count == 2)
    }

    @Test("An empty folder, a folder without roots and a missing folder are errors")
    func folders() throws {
        let folder = try TemporaryFolder()
        expectPinningError(.noCertificates) { try TrustAnchors(contentsOf: folder.path) }
        expectPinningError(.unreadableFile) { try TrustAnchors(contentsOf: folder.path("missing")) }
        try folder.write(leaf.pem, to: "leaf.pem")
        expectPinningError(.noAnchors) { try TrustAnchors(contentsOf: folder.path) }
    }

    @Test("A disabled evaluator with its own roots validates paths again")
    func disabled() throws {
        let rule = TrustRule(evaluators: [try DisabledTrustEvaluator().anchored(by: TrustAnchors(usual))])
        #expect(rule.validatesPath)
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(own)).reason == .incompletePath)
    }

    @Test("A client certificate belongs to its own rule only, and two of them in one rule are a conflict")
    func clientIdentity() throws {
        let (one, two) = (try ClientIdentity(leaf), try ClientIdentity(leaf))
        let presenting = DefaultTrustEvaluator().presenting(one)
        #expect(TrustRule(evaluators: [presenting]).clientIdentity === one)
        #expect(TrustRule(evaluators: [DefaultTrustEvaluator()]).clientIdentity == nil)
        #expect(TrustRule(evaluators: [presenting.presenting(two)]).flaw?.code == .conflictingConditions)
    }
}

extension ClientIdentity {
    convenience init(_ certificate: TestCertificate) throws {
        try self.init(
            certificates: certificate.chain().map { try Certificate($0) }, privateKey: .bytes(Array(certificate.privateKeyPEM.utf8)))
    }
}
