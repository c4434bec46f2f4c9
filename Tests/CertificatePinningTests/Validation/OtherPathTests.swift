import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Synchronization
import Testing

@Suite("If OpenSSL's first path is invalid, another path is used")
struct OtherPathTests {
    private let old: TestCertificate
    private let new: TestCertificate
    private let anchors: TrustAnchors
    /// The same authority, certified by the old root and by the new one.
    private let byOld: TestCertificate
    private let byNew: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        // The old root is still trusted, and has expired.
        old = try TestPKI.root("Old", flaws: [.expired])
        new = try TestPKI.root("New")
        anchors = try TrustAnchors(old, new)
        byOld = try TestPKI.intermediate(issuer: old)
        byNew = try TestPKI.crossSign(byOld, by: new)
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: byOld)
    }

    @Test("A cross-signed twin below another root is used, in whatever order the server sends both")
    func twin() throws {
        for others in [[byOld, byNew], [byNew, byOld], [byOld, old, byNew, new], [byOld, byOld, byNew]] {
            let trust = try judge([leaf] + others, anchors: anchors).get()
            #expect(trust.chain.map(\.der) == [leaf, byNew, new].map(\.der))
        }
        #expect(try judge([leaf, byOld], anchors: anchors).reason == .expired)
    }

    @Test("If a root is not valid, the path uses its twin that another root certified")
    func rootTwin() throws {
        let intermediate = try TestPKI.intermediate("Below", issuer: old)
        let server = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let bridge = try TestPKI.crossSign(old, by: new)
        let trust = try judge([server, intermediate, bridge], anchors: anchors).get()
        #expect(trust.chain.map(\.der) == [server, intermediate, bridge, new].map(\.der))
    }

    @Test("A root's new key under its old name is found, although OpenSSL tries the root of that name first")
    func keyChange() throws {
        let renewed = try TestPKI.intermediate("New", issuer: new)
        // Only the name says which key signed the server's certificate.
        let server = try AlteredCertificate.make(TestPKI.leaf(hosts: ["api.test"], issuer: renewed), signedBy: renewed.key) { x509 in
            AlteredCertificate.removeExtension(x509, NID_authority_key_identifier)
        }
        let result = try ChainValidator.evaluate(
            chain: [server, Certificate(renewed)], host: CanonicalHost("api.test"), rule: .pathValidation, defaultAnchors: anchors,
            time: Date(), searchLimit: .untimed)
        #expect(try result.get().chain.map(\.der) == [server.der, renewed.der, new.der])
    }

    @Test("The first valid path is final: a pin on another path does not count, and evaluators run once")
    func final() throws {
        let third = try TestPKI.root("Third")
        let byThird = try TestPKI.crossSign(byOld, by: third)
        let all = try TrustAnchors(old, new, third)
        let sent = [leaf, byOld, byNew, byThird]
        let count = Mutex(0)
        let counter = evaluator { _, _ in
            count.withLock { $0 += 1 }
            return .trusted
        }
        let taken = try judge(sent, anchors: all).get().chain
        let (pinned, other) = try taken.last?.pin == Pin(new.key) ? (new, third) : (third, new)
        for (root, reason) in [(pinned, nil), (other, TrustRefusal.Reason.pinMismatch), (old, .pinMismatch)] {
            let pin = try PublicKeysTrustEvaluator(withoutBackup: [Pin(root.key)])
            count.withLock { $0 = 0 }
            let refusal = try judge(sent, rule: TrustRule(evaluators: [counter, pin]), anchors: all).refusal
            #expect(refusal?.reason == reason)
            #expect(count.withLock(\.self) == 1)
            if let refusal { #expect(refusal.presented.map(\.pin) == taken.map(\.pin)) }
        }
    }

    @Test("A flaw of the server's certificate is reported, whatever paths exist")
    func flawedLeaf() throws {
        let expired = try TestPKI.leaf(hosts: ["api.test"], issuer: byOld, flaws: [.expired])
        #expect(try judge([expired, byNew, byOld], anchors: anchors).reason == .expired)
        #expect(try judge([leaf, byOld, byNew], host: "other.test", anchors: anchors).reason == .hostMismatch)
        let authority = try TestPKI.leaf(hosts: ["api.test"], issuer: byOld, flaws: [.leafIsCA])
        #expect(try judge([authority, byNew, byOld], anchors: anchors).reason == .leafIsCA)
    }

    @Test("A handshake uses the accepted path, and OpenSSL holds it as the verified one", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func handshake(version: Int32) throws {
        for (sent, path) in [([leaf, byOld, byNew], [leaf, byNew, new]), ([leaf, byNew], [leaf, byNew, new])] {
            let hook = try HandshakePair.Hook(host: "api.test", rule: .pinned(Pin(new.key)), anchors: anchors)
            let pair = try HandshakePair(server: sent, hook: hook)
            COpenSSLTest.setMaximumVersion(pair.server, version)
            let outcome = try pair.connect()
            #expect(outcome.isConnected && outcome.version == version && outcome.verifyResult == Int(X509_V_OK))
            #expect(outcome.verifiedChain == path.map(\.der))
            #expect(try hook.results.map { try $0.get().chain.map(\.der) } == [path.map(\.der)])
        }
        let refused = try HandshakePair.Hook(host: "api.test", rule: .pinned(Pin(old.key)), anchors: anchors)
        let pair = try HandshakePair(server: [leaf, byOld, byNew], hook: refused)
        COpenSSLTest.setMaximumVersion(pair.server, version)
        #expect(try !pair.connect().isConnected)
        #expect(refused.results.map(\.reason) == [.pinMismatch])
    }

    @Test("A stapled response is judged on the accepted path", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func status(version: Int32) throws {
        let rule = TrustRule(evaluators: [RevocationTrustEvaluator(sources: .withoutNetwork, scope: .leaf)])
        for (status, isConnected) in [(TestStatus.good, true), (.revoked, false)] {
            let hook = try HandshakePair.Hook(host: "api.test", rule: rule, anchors: anchors)
            let pair = try HandshakePair(server: [leaf, byOld, byNew], hook: hook)
            COpenSSLTest.setMaximumVersion(pair.server, version)
            pair.staple(try TestPKI.ocspResponse(for: leaf, status: status))
            #expect(try pair.connect().isConnected == isConnected)
            let refusal = version == TLS1_2_VERSION ? hook.statusResults.last?.refusal : hook.results.last?.refusal
            #expect(refusal?.reason == (isConnected ? nil : .revoked))
            let path = [leaf, byNew, new]
            if let refusal {
                #expect(try refusal.presented.map(\.pin) == path.map { try Pin($0.key) })
            } else if version == TLS1_2_VERSION {
                #expect(try hook.statusResults.last?.get().chain.map(\.der) == path.map(\.der))
            }
        }
    }
}
