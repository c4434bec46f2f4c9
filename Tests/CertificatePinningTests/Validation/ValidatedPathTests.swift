import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("Only the validated path counts, not the certificates that the server sends")
struct ValidatedPathTests {
    @Test("A pinned certificate that is sent beside an impostor's path does not make it trusted (CVE-2016-2402)")
    func appended() throws {
        let evil = try TestPKI.root("Evil but trusted")
        let good = try TestPKI.root("Good")
        let goodIntermediate = try TestPKI.intermediate("Good intermediate", issuer: good)
        let goodLeaf = try TestPKI.leaf(hosts: ["api.test"], issuer: goodIntermediate)
        let impostor = try TestPKI.leaf(hosts: ["api.test"], issuer: evil)
        let anchors = try TrustAnchors(evil, good)
        let rule = try TrustRule.pinned(Pin(goodLeaf.key), Pin(goodIntermediate.key), Pin(good.key))

        #expect(try judge(goodLeaf.chain(), rule: rule, anchors: anchors).isTrusted)
        for extra in [[goodLeaf], [goodIntermediate], [good], [goodLeaf, goodIntermediate, good]] {
            let refusal = try judge(
                impostor.chain(includingRoot: true, appending: extra), rule: rule, anchors: anchors
            ).refusal
            #expect(refusal?.reason == .pinMismatch)
            // The refusal shows the path without the appended certificates.
            #expect(try refusal?.presented.map(\.pin) == [Pin(impostor.key), Pin(evil.key)])
        }
    }

    @Test("A server's certificate cannot issue another server's certificate, even if its key is pinned")
    func leafAsIssuer() throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        let impostor = try TestPKI.leaf(hosts: ["api.test"], issuer: leaf)
        #expect(try judge(impostor.chain(), rule: .pinned(Pin(leaf.key)), anchors: TrustAnchors(root)).reason == .notACA)
    }

    @Test("The order of the sent certificates and their duplicates do not matter")
    func order() throws {
        let root = try TestPKI.root()
        let first = try TestPKI.intermediate("First", issuer: root)
        let second = try TestPKI.intermediate("Second", issuer: first)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: second)
        for others in [[first, second], [second, first], [root, first, first, second, leaf, second]] {
            let trust = try judge([leaf] + others, anchors: TrustAnchors(root)).get()
            #expect(trust.chain.map(\.der) == [leaf, second, first, root].map(\.der))
        }
    }

    @Test("The shortest path to a trusted root is used, whatever certificates the server sends with it")
    func crossSigned() throws {
        let old = try TestPKI.root("Old root")
        let new = try TestPKI.root("New root")
        let bridge = try TestPKI.crossSign(new, by: old)
        let intermediate = try TestPKI.intermediate(issuer: new)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let sent = [
            [leaf, intermediate, bridge], [leaf, bridge, intermediate], [leaf, intermediate, bridge, old],
            [leaf, old, bridge, intermediate],
        ]

        for chain in sent {
            // Both roots are trusted. The path ends in the new one, so a pin of the old one does not match.
            let both = try TrustAnchors(old, new)
            #expect(try judge(chain, anchors: both).get().chain.map(\.der) == [leaf, intermediate, new].map(\.der))
            #expect(try judge(chain, rule: .pinned(Pin(old.key)), anchors: both).reason == .pinMismatch)
            #expect(try judge(chain, rule: .pinned(Pin(new.key)), anchors: both).isTrusted)
            // Only the old root is trusted, so the path uses the bridge. The bridge has the new root's key.
            let oldOnly = try TrustAnchors(old)
            #expect(try judge(chain, anchors: oldOnly).get().chain.map(\.der) == [leaf, intermediate, bridge, old].map(\.der))
            #expect(try judge(chain, rule: .pinned(Pin(old.key)), anchors: oldOnly).isTrusted)
            #expect(try judge(chain, rule: .pinned(Pin(new.key)), anchors: oldOnly).isTrusted)
        }
        #expect(try judge([leaf, intermediate], anchors: TrustAnchors(old)).reason == .incompletePath)
    }

    @Test("A hundred certificates that lead to no root cause a refusal of bounded length")
    func flood() throws {
        let foreign = try TestPKI.root("Foreign")
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: foreign)
        let noise = try (0..<100).map { try TestPKI.intermediate("Noise \($0)", issuer: foreign) }
        let refusal = try #require(try judge([leaf] + noise, anchors: TrustAnchors(TestPKI.root())).refusal)
        #expect(refusal.presented.count == 14 && refusal.omittedCount == 87)
        #expect(refusal.description.count < 5_000)
    }
}
