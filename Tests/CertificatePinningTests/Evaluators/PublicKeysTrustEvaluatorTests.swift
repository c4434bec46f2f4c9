import ApproovTesting
import CertificatePinning
import Foundation
import Synchronization
import Testing

@Suite("PublicKeysTrustEvaluator")
struct PublicKeysTrustEvaluatorTests {
    private let root: TestCertificate
    private let intermediate: TestCertificate
    private let leaf: TestCertificate
    private let anchors: TrustAnchors

    init() throws {
        root = try TestPKI.root()
        intermediate = try TestPKI.intermediate(issuer: root)
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        anchors = try TrustAnchors(root)
    }

    @Test("an empty set of pins is refused, for it must not mean every key")
    func empty() {
        expectPinningError(.noPins) { try PublicKeysTrustEvaluator(pins: []) }
    }

    @Test("one pin is refused, for its key may be lost; saying so loudly takes it")
    func backup() throws {
        expectPinningError(.backupPinMissing) { try PublicKeysTrustEvaluator(pins: [Pin(leaf.key)]) }
        expectPinningError(.noPins) { try PublicKeysTrustEvaluator(withoutBackup: []) }
        let evaluator = try PublicKeysTrustEvaluator(withoutBackup: [Pin(leaf.key)])
        #expect(try judge(leaf.chain(), rule: TrustRule(evaluators: [evaluator]), anchors: anchors).isTrusted)
    }

    @Test("after their date pins refuse no server whose path is valid, which the log is told once for every host, as an error")
    func expiry() throws {
        let record = LogRecord()
        let end = Date().addingTimeInterval(86_400)
        let pins = try PublicKeysTrustEvaluator(pins: [Pin(TestKey()), Pin(TestKey())], validUntil: end, logger: record.logger)
        let rule = TrustRule(evaluators: [pins])
        #expect(try judge(leaf.chain(), rule: rule, anchors: anchors, time: end.addingTimeInterval(-1)).reason == .pinMismatch)
        #expect(record.lines.isEmpty)
        for _ in 0..<3 { #expect(try judge(leaf.chain(), rule: rule, anchors: anchors, time: end).isTrusted) }
        let lines = record.lines
        #expect(lines.count == 1)
        #expect(lines.first.map { $0.hasPrefix("error ") && $0.contains("PINS HAVE EXPIRED") && $0.contains("api.test") } == true)
        let stranger = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        #expect(try judge([stranger], rule: rule, anchors: anchors, time: end).reason == .selfSigned)
    }

    @Test("what pins would refuse after their date is told to the rule's observer as not enforced, every time")
    func expiryReported() throws {
        let told = Mutex<[TrustViolation]>([])
        let end = Date()
        let pins = try PublicKeysTrustEvaluator(pins: [Pin(TestKey()), Pin(TestKey())], validUntil: end)
        let rule = TrustRule(evaluators: [pins]) { violation in told.withLock { $0.append(violation) } }
        for _ in 0..<2 { #expect(try judge(leaf.chain(), rule: rule, anchors: anchors, time: end).isTrusted) }
        #expect(told.withLock { $0.map(\.refusal.reason) } == [.pinMismatch, .pinMismatch])
        #expect(told.withLock { $0.allSatisfy { !$0.isEnforced && $0.refusal.expected.count == 2 } })
    }

    @Test("pins that match are no news after their date")
    func expiryUnnoticed() throws {
        let record = LogRecord()
        let evaluator = try PublicKeysTrustEvaluator(
            pins: [Pin(leaf.key), Pin(TestKey())], validUntil: .distantPast, logger: record.logger)
        #expect(try judge(leaf.chain(), rule: TrustRule(evaluators: [evaluator]), anchors: anchors).isTrusted)
        #expect(record.lines.isEmpty)
    }

    @Test("the key of the server, of the intermediate or of the root may be pinned")
    func anyLevel() throws {
        for pinned in [leaf, intermediate, root] {
            #expect(try judge(leaf.chain(), rule: .pinned(Pin(pinned.key)), anchors: anchors).isTrusted)
        }
    }

    @Test("a pin of the root holds although the server does not send it: the validated path counts")
    func rootIsNotSent() throws {
        #expect(leaf.chain().count == 2)
        #expect(try judge(leaf.chain(), rule: .pinned(Pin(root.key)), anchors: anchors).isTrusted)
    }

    @Test("one pin of several is enough")
    func oneOfMany() throws {
        let others = try (0..<20).map { _ in try Pin(TestKey()) }
        let rule = try TrustRule(evaluators: [PublicKeysTrustEvaluator(pins: Set(others + [Pin(leaf.key)]))])
        #expect(try judge(leaf.chain(), rule: rule, anchors: anchors).isTrusted)
    }

    @Test("the refusal lists the pins presented with their subjects, then those configured, and says what to do")
    func refusal() throws {
        let expected = try [Pin(TestKey()), Pin(TestKey())]
        let refusal = try #require(try judge(leaf.chain(), rule: .pinned(expected[0], expected[1]), anchors: anchors).refusal)
        #expect(refusal.reason == .pinMismatch)
        #expect(refusal.host == "api.test")
        #expect(try refusal.presented.map(\.pin) == [Pin(leaf.key), Pin(intermediate.key), Pin(root.key)])
        #expect(Set(refusal.expected) == Set(expected))
        for certificate in [leaf, intermediate, root] {
            #expect(try refusal.description.contains("\(Pin(certificate.key)) (\(Certificate(certificate).subject))"))
        }
        for pin in expected { #expect(refusal.description.contains(pin.description)) }
        #expect(refusal.description.contains("add the first of the presented pins"))
        #expect(!refusal.description.contains("\n"))
    }

    @Test("a thousand configured pins do not make a message that fills the log")
    func boundedMessage() throws {
        let pins = try (0..<1_000).map { number in
            try Pin(spkiSHA256: (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 2))) })
        }
        let rule = try TrustRule(evaluators: [PublicKeysTrustEvaluator(pins: Set(pins))])
        let refusal = try #require(try judge(leaf.chain(), rule: rule, anchors: anchors).refusal)
        #expect(refusal.description.count < 5_000)
        #expect(refusal.description.contains("and 990 more"))
    }
}
