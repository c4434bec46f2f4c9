import ApproovTesting
import CertificatePinning
import Testing

@Suite("DisabledTrustEvaluator")
struct DisabledTrustEvaluatorTests {
    private let record = LogRecord()
    private var evaluator: DisabledTrustEvaluator { DisabledTrustEvaluator(logger: record.logger) }

    @Test("The evaluator trusts every server, and logs an error once per host")
    func trustsAndShouts() throws {
        let rule = TrustRule(evaluators: [evaluator])
        let anchors = try TrustAnchors(TestPKI.root())
        let stranger = try TestPKI.leaf(hosts: ["else.test"], issuer: nil, flaws: [.expired])
        for host in ["a.test", "a.test", "b.test", "a.test"] {
            let trust = try judge([stranger], host: host, rule: rule, anchors: anchors).get()
            #expect(!trust.isPathValidated)
        }
        let lines = record.lines
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("error ") && $0.contains("TRUST IS DISABLED") })
        #expect(lines[0].contains("a.test") && lines[1].contains("b.test"))
    }

    @Test("Beside another evaluator it disables nothing, and logs one warning")
    func doesNotWeaken() throws {
        let root = try TestPKI.root()
        let rule = TrustRule(evaluators: [evaluator, DefaultTrustEvaluator()])
        let stranger = try TestPKI.leaf(hosts: ["a.test"], issuer: nil)
        #expect(try judge([stranger], host: "a.test", rule: rule, anchors: TrustAnchors(root)).reason == .selfSigned)
        let good = try TestPKI.leaf(hosts: ["a.test"], issuer: root)
        #expect(try judge([good], host: "a.test", rule: rule, anchors: TrustAnchors(root)).isTrusted)
        #expect(record.lines.count == 1 && record.lines.first?.hasPrefix("warning ") == true)
    }

    @Test("The evaluator remembers at most 256 hosts and logs no further ones")
    func bounded() throws {
        let rule = TrustRule(evaluators: [evaluator])
        let anchors = try TrustAnchors(TestPKI.root())
        let stranger = try TestPKI.leaf(hosts: ["else.test"], issuer: nil)
        for number in 0..<1_000 { _ = try judge([stranger], host: "h\(number).test", rule: rule, anchors: anchors) }
        #expect(record.lines.count == 256)
    }
}
