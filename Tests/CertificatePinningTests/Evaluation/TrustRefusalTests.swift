import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("TrustRefusal")
struct TrustRefusalTests {
    @Test("A refusal is one line of printable ASCII, whatever the certificates, the host and the evaluator contain")
    func safeToLog() throws {
        let root = try TestPKI.root("Root\r\nlevel=info msg=\"all is well\"")
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root, commonName: "ｅvil\u{202E}\u{0}\u{1B}[2J")
        let trust = try judge(leaf.chain(), anchors: TrustAnchors(root)).get()
        let refusal = TrustRefusal(.other, trust: trust, detail: "tab\tand\nnewline\u{1B}")
        for text in [refusal.description, TrustRefusal(.other, host: "a\nb", detail: "").description, "\(refusal)"] {
            #expect(text.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
        }
        #expect(refusal.detail == "tab\\u{9}and\\u{a}newline\\u{1b}")
    }

    @Test("A refusal names its reason, host, detail, presented pins and expected pins, in this order")
    func order() throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        let pin = try Pin(TestKey())
        let trust = try judge(leaf.chain(), anchors: TrustAnchors(root)).get()
        let refusal = TrustRefusal(.pinMismatch, trust: trust, expected: [pin], detail: "do this")
        #expect(
            try refusal.description
                == "pinMismatch: api.test is refused: do this; presented: \(Pin(leaf.key)) (CN=api.test), \(Pin(root.key)) (CN=Test Root);"
                + " expected one of: \(pin)")
    }

    @Test("Refusals are equal if their reasons are, and localizedDescription equals description")
    func comparable() {
        let refusal = TrustRefusal(.expired, host: "a.test", detail: "one")
        #expect(refusal == TrustRefusal(.expired, host: "b.test", detail: "two"))
        #expect(refusal != TrustRefusal(.revoked, host: "a.test", detail: "one"))
        #expect((refusal as any Error).localizedDescription == refusal.description)
    }

    @Test("A refusal's description is bounded, however long the host and the detail are")
    func bounded() {
        let refusal = TrustRefusal(.other, host: String(repeating: "h", count: 10_000), detail: String(repeating: "d", count: 1_000_000))
        #expect(refusal.description.count < 1_500)
    }

    @Test("Reasons can be compared, and print their names")
    func reasons() {
        #expect(TrustRefusal.Reason.pinMismatch != .hostMismatch)
        #expect("\(TrustRefusal.Reason.noSubjectAlternativeName)" == "noSubjectAlternativeName")
    }
}
