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

    @Test("An empty set of pins is rejected, because it must not mean that every key matches")
    func empty() {
        expectPinningError(.noPins) { try PublicKeysTrustEvaluator(pins: []) }
    }

    @Test("A single pin is rejected, because its key may be lost, unless the caller asks for no backup")
    func backup() throws {
        expectPinningError(.backupPinMissing) { try PublicKeysTrustEvaluator(pins: [Pin(leaf.key)]) }
        expectPinningError(.noPins) { try PublicKeysTrustEvaluator(withoutBackup: []) }
        let evaluator = try PublicKeysTrustEvaluator(withoutBackup: [Pin(leaf.key)])
        #expect(try judge(leaf.chain(), rule: TrustRule(evaluators: [evaluator]), anchors: anchors).isTrusted)
    }

    @Test("Expired pins refuse no server whose path is valid, and the evaluator logs one error per host")
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

    @Test("The observer hears of every mismatch with expired pins, marked as not enforced")
    func expiryReported() throws {
        let told = Mutex<[TrustViolation]>([])
        let end = Date()
        let pins = try PublicKeysTrustEvaluator(pins: [Pin(TestKey()), Pin(TestKey())], validUntil: end)
        let rule = TrustRule(evaluators: [pins]) { violation in told.withLock { $0.append(violation) } }
        for _ in 0..<2 { #expect(try judge(leaf.chain(), rule: rule, anchors: anchors, time: end).isTrusted) }
        #expect(told.withLock { $0.map(\.refusal.reason) } == [.pinMismatch, .pinMismatch])
        #expect(told.withLock { $0.allSatisfy { !$0.isEnforced && $0.refusal.expected.count == 2 } })
    }

    @Test("Expired pins that match are not logged")
    func expiryUnnoticed() throws {
        let record = LogRecord()
        let evaluator = try PublicKeysTrustEvaluator(
            pins: [Pin(leaf.key), Pin(TestKey())], validUntil: .distantPast, logger: record.logger)
        #expect(try judge(leaf.chain(), rule: TrustRule(evaluators: [evaluator]), anchors: anchors).isTrusted)
        #expect(record.lines.isEmpty)
    }

    @Test("The key of the server, of an intermediate or of the root may be pinned")
    func anyLevel() throws {
        for pinned in [leaf, intermediate, root] {
            #expect(try judge(leaf.chain(), rule: .pinned(Pin(pinned.key)), anchors: anchors).isTrusted)
        }
    }

    @Test("A pin of the root matches even if the server does not send the root, because the validated path counts")
    func rootIsNotSent() throws {
        #expect(leaf.chain().count == 2)
        #expect(try judge(leaf.chain(), rule: .pinned(Pin(root.key)), anchors: anchors).isTrusted)
    }

    @Test("One matching pin of many is enough")
    func oneOfMany() throws {
        let others = try (0..<20).map { _ in try Pin(TestKey()) }
        let rule = try TrustRule(evaluators: [PublicKeysTrustEvaluator(pins: Set(others + [Pin(leaf.key)]))])
        #expect(try judge(leaf.chain(), rule: rule, anchors: anchors).isTrusted)
    }

    @Test("The refusal lists the presented pins with their subjects and the configured pins, and says what to do")
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

    @Test("A refusal with a thousand configured pins has a bounded description")
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
