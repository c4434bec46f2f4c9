import ApproovTesting
import CertificatePinning
import Logging
import Synchronization
import Testing

/// Keeps what is logged.
private struct RecordingLogHandler: LogHandler {
    final class Record: Sendable {
        let lines = Mutex<[(level: Logger.Level, text: String)]>([])
    }

    let record: Record
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        record.lines.withLock { $0.append((event.level, "\(event.message) \(event.metadata ?? [:])")) }
    }
}

@Suite("DisabledTrustEvaluator")
struct DisabledTrustEvaluatorTests {
    private let record = RecordingLogHandler.Record()
    private var evaluator: DisabledTrustEvaluator {
        let record = record
        return DisabledTrustEvaluator(logger: Logger(label: "test", factory: { _ in RecordingLogHandler(record: record) }))
    }

    @Test("it trusts anybody, and says so in the log once for every host")
    func trustsAndShouts() throws {
        let rule = TrustRule(evaluators: [evaluator])
        let anchors = try TrustAnchors(TestPKI.root())
        let stranger = try TestPKI.leaf(hosts: ["else.test"], issuer: nil, flaws: [.expired])
        for host in ["a.test", "a.test", "b.test", "a.test"] {
            let trust = try judge([stranger], host: host, rule: rule, anchors: anchors).get()
            #expect(!trust.isPathValidated)
        }
        let lines = record.lines.withLock { $0 }
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.level == .error && $0.text.contains("TRUST IS DISABLED") })
        #expect(lines[0].text.contains("a.test") && lines[1].text.contains("b.test"))
    }

    @Test("beside another evaluator it switches nothing off")
    func doesNotWeaken() throws {
        let root = try TestPKI.root()
        let rule = TrustRule(evaluators: [evaluator, DefaultTrustEvaluator()])
        let stranger = try TestPKI.leaf(hosts: ["a.test"], issuer: nil)
        #expect(try judge([stranger], host: "a.test", rule: rule, anchors: TrustAnchors(root)).reason == .selfSigned)
        let good = try TestPKI.leaf(hosts: ["a.test"], issuer: root)
        #expect(try judge([good], host: "a.test", rule: rule, anchors: TrustAnchors(root)).isTrusted)
        #expect(record.lines.withLock { $0.map(\.level) } == [.warning])
    }

    @Test("what it remembers of hosts is bounded")
    func bounded() throws {
        let rule = TrustRule(evaluators: [evaluator])
        let anchors = try TrustAnchors(TestPKI.root())
        let stranger = try TestPKI.leaf(hosts: ["else.test"], issuer: nil)
        for number in 0..<1_000 { _ = try judge([stranger], host: "h\(number).test", rule: rule, anchors: anchors) }
        #expect(record.lines.withLock(\.count) == 256)
    }
}
