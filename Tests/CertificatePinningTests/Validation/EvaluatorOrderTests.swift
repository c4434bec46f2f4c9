import ApproovTesting
import CertificatePinning
import Foundation
import Synchronization
import Testing

/// Gives the scripted verdict and records the hosts that it was asked about.
private final class ScriptedEvaluator: ServerTrustEvaluating {
    private let verdict: @Sendable (ServerTrust) -> TrustVerdict
    private let asked = Mutex<[String]>([])

    var hosts: [String] { asked.withLock { $0 } }

    init(_ verdict: @escaping @Sendable (ServerTrust) -> TrustVerdict) { self.verdict = verdict }

    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        asked.withLock { $0.append(host) }
        return verdict(trust)
    }
}

@Suite("Evaluators run after path validation, in order, and all of them must trust the server")
struct EvaluatorOrderTests {
    private let root: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
    }

    @Test("An evaluator never sees a path that failed validation")
    func validationComesFirst() throws {
        let evaluator = ScriptedEvaluator { _ in .trusted }
        let stranger = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        let rule = TrustRule(evaluators: [evaluator])
        #expect(try judge([stranger], rule: rule, anchors: TrustAnchors(root)).reason == .selfSigned)
        #expect(try judge([leaf], host: "other.test", rule: rule, anchors: TrustAnchors(root)).reason == .hostMismatch)
        let authority = try TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [.leafIsCA])
        #expect(try judge([authority], rule: rule, anchors: TrustAnchors(root)).reason == .leafIsCA)
        #expect(evaluator.hosts.isEmpty)
        #expect(try judge([leaf], host: "API.test.", rule: rule, anchors: TrustAnchors(root)).isTrusted)
        #expect(evaluator.hosts == ["api.test"])
    }

    @Test("The first refusal ends the evaluation, and is the one that is reported")
    func firstRefusal() throws {
        let trusting = ScriptedEvaluator { _ in .trusted }
        let refusing = ScriptedEvaluator { .refused(TrustRefusal(.evaluatorFailed, trust: $0, detail: "first\nline")) }
        let last = ScriptedEvaluator { .refused(TrustRefusal(.revoked, trust: $0, detail: "second")) }
        let rule = TrustRule(evaluators: [trusting, refusing, last])
        let refusal = try judge([leaf], rule: rule, anchors: TrustAnchors(root)).refusal
        #expect(refusal?.reason == .evaluatorFailed)
        #expect(refusal?.detail == "first\\u{a}line")
        #expect(trusting.hosts.count == 1 && refusing.hosts.count == 1 && last.hosts.isEmpty)
    }

    @Test("A missing look-up is a refusal; with its result, the evaluator is asked again")
    func lookups() throws {
        let lookup = TrustLookup(kind: .ocsp, url: "http://ocsp.test/")
        let evaluator = ScriptedEvaluator { $0.lookupResults[lookup] == nil ? .needs([lookup]) : .trusted }
        let rule = TrustRule(evaluators: [evaluator])
        #expect(try judge([leaf], rule: rule, anchors: TrustAnchors(root)).reason == .lookupsUnavailable)
        let result = try ChainValidator.evaluate(
            chain: [Certificate(leaf)], host: CanonicalHost("api.test"), rule: rule, defaultAnchors: TrustAnchors(root), time: Date(),
            lookupResults: [lookup: TrustLookupResult(of: lookup, bytes: [1], receivedAt: Date())])
        #expect(result.isTrusted)
    }

    @Test("A thousand concurrent evaluations with shared anchors and certificates all give the right result")
    func concurrent() async throws {
        let anchors = try TrustAnchors(root)
        let host = try CanonicalHost("api.test")
        let other = try CanonicalHost("other.test")
        let chain = [try Certificate(leaf)]
        let rule = try TrustRule.pinned(Pin(leaf.key))
        let wrong = try TrustRule.pinned(Pin(TestKey()))
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1_000 {
                group.addTask {
                    let result = ChainValidator.evaluate(
                        chain: chain, host: number % 3 == 1 ? other : host, rule: number % 3 == 2 ? wrong : rule, defaultAnchors: anchors,
                        time: Date())
                    return result.reason == [nil, .hostMismatch, .pinMismatch][number % 3]
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
