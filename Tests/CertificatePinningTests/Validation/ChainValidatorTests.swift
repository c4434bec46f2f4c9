import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("ChainValidator")
struct ChainValidatorTests {
    private let root: TestCertificate
    private let anchors: TrustAnchors

    init() throws {
        root = try TestPKI.root()
        anchors = try TrustAnchors(root)
    }

    @Test("A sound chain is trusted, and the result has the validated path from the server to the root")
    func sound() throws {
        let intermediate = try TestPKI.intermediate(issuer: root)
        let leaf = try TestPKI.leaf(hosts: ["api.test", "*.wild.test", "10.1.2.3", "2001:db8::1"], issuer: intermediate)
        let time = Date()
        for host in ["api.test", "API.test.", "x.wild.test", "10.1.2.3", "[::ffff:10.1.2.3]", "[2001:db8:0::1]"] {
            let trust = try judge(leaf.chain(), host: host, anchors: anchors, time: time).get()
            #expect(trust.chain.map(\.der) == [leaf.der, intermediate.der, root.der])
            #expect(try trust.host == CanonicalHost(host))
            #expect(trust.time == time)
            #expect(trust.isPathValidated)
            #expect(trust.lookupResults.isEmpty)
        }
    }

    @Test(
        "A certificate is valid only for its subject alternative names",
        arguments: ["test", "x.api.test", "evilapi.test", "wild.test", "x.y.wild.test", "10.1.2.4", "wrong-host.test", "2001:db8::2"])
    func hostMismatch(host: String) throws {
        let leaf = try TestPKI.leaf(hosts: ["api.test", "*.wild.test", "10.1.2.3", "2001:db8::1"], issuer: root)
        let refusal = try judge([leaf], host: host, anchors: anchors).refusal
        #expect(refusal?.reason == .hostMismatch)
        #expect(refusal?.detail.contains("DNS:api.test") == true)
    }

    @Test("A wildcard never matches a host with an underscore, and the refusal says so; the host's whole name does")
    func underscore() throws {
        let wildcard = try TestPKI.leaf(hosts: ["*.api.test"], issuer: root)
        let refusal = try #require(try judge([wildcard], host: "my_bucket.api.test", anchors: anchors).refusal)
        #expect(refusal.reason == .hostMismatch)
        #expect(refusal.detail.contains("a wildcard never matches a host with an underscore"))
        let named = try TestPKI.leaf(hosts: ["my_bucket.api.test"], issuer: root)
        #expect(try judge([named], host: "my_bucket.api.test", anchors: anchors).isTrusted)
        // Not for a host without an underscore, and not for a certificate without a wildcard.
        for (certificate, host) in [(wildcard, "other.test"), (named, "his_bucket.api.test")] {
            let other = try #require(try judge([certificate], host: host, anchors: anchors).refusal)
            #expect(other.reason == .hostMismatch && !other.detail.contains("underscore"))
        }
    }

    @Test("A wildcard that covers only part of a label matches no host")
    func partialWildcards() throws {
        let leaf = try TestPKI.leaf(hosts: ["a*.api.test", "*a.api.test"], issuer: root)
        #expect(try judge([leaf], host: "aa.api.test", anchors: anchors).reason == .hostMismatch)
    }

    @Test(
        "Each flaw of a server's certificate has its own reason, even if the key is pinned",
        arguments: [
            (TestFlaw.expired, TrustRefusal.Reason.expired), (.notYetValid, .notYetValid), (.wrongHost, .hostMismatch),
            (.commonNameOnly, .noSubjectAlternativeName), (.clientAuthOnly, .wrongPurpose), (.leafIsCA, .leafIsCA),
            (.badSignature, .signatureFailure), (.unknownCriticalExtension, .malformedCertificate),
        ])
    func leafFlaws(flaw: TestFlaw, reason: TrustRefusal.Reason) throws {
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [flaw])
        #expect(try judge([leaf], anchors: anchors).reason == reason)
        #expect(try judge([leaf], rule: .pinned(Pin(leaf.key), Pin(root.key)), anchors: anchors).reason == reason)
    }

    @Test(
        "Each flaw of an intermediate has its own reason, even if its key is pinned",
        arguments: [
            (TestFlaw.expired, TrustRefusal.Reason.expired), (.notYetValid, .notYetValid), (.notACA, .notACA),
            (.noBasicConstraints, .notACA), (.wrongKeyUsage, .wrongKeyUsage), (.badSignature, .signatureFailure),
            (.unknownCriticalExtension, .malformedCertificate),
        ])
    func intermediateFlaws(flaw: TestFlaw, reason: TrustRefusal.Reason) throws {
        let intermediate = try TestPKI.intermediate(issuer: root, flaws: [flaw])
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let refusal = try judge(leaf.chain(), rule: .pinned(Pin(intermediate.key)), anchors: anchors).refusal
        #expect(refusal?.reason == reason)
        #expect(refusal?.presented.count == 2)
    }

    @Test("A path that is longer than an issuer allows is refused")
    func pathLength() throws {
        let first = try TestPKI.intermediate("First", issuer: root, pathLength: 0)
        let second = try TestPKI.intermediate("Second", issuer: first)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: second)
        #expect(try judge(leaf.chain(), anchors: anchors).reason == .pathLengthExceeded)
        #expect(try judge(TestPKI.leaf(hosts: ["api.test"], issuer: first).chain(), anchors: anchors).isTrusted)
    }

    @Test("A path with 12 intermediates is accepted, and one with 13 is refused")
    func longPath() throws {
        var issuer = root
        for number in 1...12 { issuer = try TestPKI.intermediate("Intermediate \(number)", issuer: issuer) }
        #expect(try judge(TestPKI.leaf(hosts: ["api.test"], issuer: issuer).chain(), anchors: anchors).isTrusted)
        issuer = try TestPKI.intermediate("Intermediate 13", issuer: issuer)
        #expect(try judge(TestPKI.leaf(hosts: ["api.test"], issuer: issuer).chain(), anchors: anchors).reason == .pathTooLong)
    }

    @Test("An untrusted authority is refused even if its key or the server's key is pinned")
    func untrustedButPinned() throws {
        let foreign = try TestPKI.root("Foreign")
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: foreign)
        let rule = try TrustRule.pinned(Pin(leaf.key), Pin(foreign.key))
        #expect(try judge(leaf.chain(), rule: rule, anchors: anchors).reason == .incompletePath)
        #expect(try judge(leaf.chain(includingRoot: true), rule: rule, anchors: anchors).reason == .untrustedRoot)
    }

    @Test("An authority that uses the name of a trusted authority is refused")
    func impersonatedRoot() throws {
        let impostor = try TestPKI.root("Test Root")
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: impostor)
        #expect(try !judge(leaf.chain(includingRoot: true), anchors: anchors).isTrusted)
    }

    @Test("A self-signed certificate is refused, unless it is configured as a root and is not an authority")
    func selfSigned() throws {
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        #expect(try judge([leaf], rule: .pinned(Pin(leaf.key)), anchors: anchors).reason == .selfSigned)
        #expect(try judge([leaf], anchors: TrustAnchors(leaf)).isTrusted)
        let authority = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, flaws: [.leafIsCA])
        #expect(try judge([authority], anchors: TrustAnchors(authority)).reason == .leafIsCA)
    }

    @Test("An empty chain is refused")
    func empty() throws {
        #expect(try judge([], anchors: anchors).reason == .noCertificate)
    }

    @Test("The refusal names the intermediate that the server did not send")
    func incomplete() throws {
        let intermediate = try TestPKI.intermediate("The forgotten one", issuer: root)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let refusal = try judge([leaf], anchors: anchors).refusal
        #expect(refusal?.reason == .incompletePath)
        #expect(refusal?.detail.contains("The forgotten one") == true)
    }

    @Test("Keys with less than 112 bits of security are refused, for a server and for an issuer")
    func weakKeys() throws {
        let weak = try TestPKI.leaf(hosts: ["api.test"], issuer: root, key: TestKey(.rsa1024))
        #expect(try judge([weak], rule: .pinned(Pin(weak.key)), anchors: anchors).reason == .weakKey)
        let weakRoot = try TestPKI.root("Weak", key: TestKey(.rsa1024))
        #expect(try judge([TestPKI.leaf(hosts: ["api.test"], issuer: weakRoot)], anchors: TrustAnchors(weakRoot)).reason == .weakKey)
    }

    @Test("For each sound key type, a chain is trusted if its key is pinned and refused if another key is", arguments: TestKeyType.allCases)
    func keyTypes(type: TestKeyType) throws {
        guard type != .rsa1024 else { return }
        let key = try TestKey(type)
        let root = try TestPKI.root(key: key)
        let intermediate = try TestPKI.intermediate(issuer: root, key: key)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate, key: key)
        let trust = try judge(leaf.chain(), rule: .pinned(Pin(key)), anchors: TrustAnchors(root)).get()
        #expect(try trust.chain.allSatisfy { try $0.pin == Pin(key) })
        #expect(try judge(leaf.chain(), rule: .pinned(Pin(TestKey())), anchors: TrustAnchors(root)).reason == .pinMismatch)
    }

    @Test("The given time decides, not the clock of the machine")
    func time() throws {
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        #expect(try judge([leaf], anchors: anchors, time: leaf.notAfter.addingTimeInterval(2)).reason == .expired)
        #expect(try judge([leaf], anchors: anchors, time: leaf.notBefore.addingTimeInterval(-2)).reason == .notYetValid)
        #expect(try judge([leaf], anchors: anchors, time: leaf.notAfter.addingTimeInterval(-2)).isTrusted)
        let expired = try TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [.expired])
        #expect(try judge([expired], anchors: anchors, time: expired.notAfter.addingTimeInterval(-3_600)).reason == .notYetValid)
        for time in [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: .nan)] {
            #expect(try !judge([leaf], anchors: anchors, time: time).isTrusted)
        }
    }

    @Test("A rule's own roots replace the default roots")
    func ownAnchors() throws {
        let own = try TestPKI.root("Own")
        let rule = try TrustRule(evaluators: [], anchors: TrustAnchors(own))
        let ofOwn = try TestPKI.leaf(hosts: ["api.test"], issuer: own)
        let ofDefault = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        #expect(try judge([ofOwn], rule: rule, anchors: anchors).isTrusted)
        #expect(try !judge([ofDefault], rule: rule, anchors: anchors).isTrusted)
        #expect(try !judge([ofOwn], anchors: anchors).isTrusted)
    }

    @Test("One chain may mix public key algorithms")
    func mixedAlgorithms() throws {
        let root = try TestPKI.root(key: TestKey(.rsa2048))
        let intermediate = try TestPKI.intermediate(issuer: root, key: TestKey(.ed25519))
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate, key: TestKey(.p384))
        #expect(try judge(leaf.chain(), rule: .pinned(Pin(leaf.key)), anchors: TrustAnchors(root)).isTrusted)
    }
}
