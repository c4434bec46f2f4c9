import ApproovTesting
import Foundation
import Testing
import SwiftASN1
import X509

@Suite("The test PKI")
struct TestPKITests {
    private func verdict(
        of leaf: TestCertificate, appending extra: [TestCertificate] = [], roots: [TestCertificate]
    ) async throws -> Bool {
        func parsed(_ certificate: TestCertificate) throws -> X509.Certificate { try X509.Certificate(derEncoded: certificate.der) }
        var verifier = Verifier(rootCertificates: CertificateStore(try roots.map(parsed))) {
            RFC5280Policy()
            ServerIdentityPolicy(serverHostname: "api.test", serverIP: nil)
        }
        let intermediates = try leaf.chain(appending: extra).dropFirst().map(parsed)
        let result = await verifier.validate(leaf: try parsed(leaf), intermediates: CertificateStore(intermediates))
        if case .validCertificate = result { return true }
        return false
    }

    @Test("A chain of root, intermediate and leaf is valid for its host")
    func soundChain() async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: try TestPKI.intermediate(issuer: root))
        #expect(try await verdict(of: leaf, roots: [root]))
        #expect(leaf.chain().count == 2)
        #expect(leaf.chain(includingRoot: true).last?.der == root.der)
    }

    @Test("A flawed leaf is rejected", arguments: [TestFlaw.expired, .notYetValid, .wrongHost, .badSignature, .unknownCriticalExtension])
    func flawedLeaf(flaw: TestFlaw) async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [flaw])
        #expect(try await !verdict(of: leaf, roots: [root]))
    }

    @Test("A flawed intermediate is rejected", arguments: [TestFlaw.expired, .notYetValid, .notACA, .noBasicConstraints, .badSignature])
    func flawedIntermediate(flaw: TestFlaw) async throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: try TestPKI.intermediate(issuer: root, flaws: [flaw]))
        #expect(try await !verdict(of: leaf, roots: [root]))
    }

    @Test("A path longer than the root's path length constraint is rejected")
    func pathLength() async throws {
        let root = try TestPKI.root(pathLength: 0)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: try TestPKI.intermediate(issuer: root))
        #expect(try await !verdict(of: leaf, roots: [root]))
    }

    @Test("With a cross-signed root, a chain is also valid for the root that cross-signed it")
    func crossSigned() async throws {
        let old = try TestPKI.root("Old Root")
        let new = try TestPKI.root("New Root")
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: new)
        #expect(try await !verdict(of: leaf, roots: [old]))
        #expect(try await verdict(of: leaf, appending: [try TestPKI.crossSign(new, by: old)], roots: [old]))
    }

    @Test("Each flaw changes the certificate extension that it stands for")
    func extensions() throws {
        let root = try TestPKI.root()
        func minted(_ flaw: TestFlaw) throws -> X509.Certificate {
            try X509.Certificate(derEncoded: TestPKI.leaf(hosts: ["api.test"], issuer: root, flaws: [flaw]).der)
        }
        #expect(try minted(.clientAuthOnly).extensions.extendedKeyUsage?.elementsEqual([.clientAuth]) == true)
        #expect(try minted(.commonNameOnly).extensions.subjectAlternativeNames == nil)
        #expect(try minted(.leafIsCA).extensions.basicConstraints == .isCertificateAuthority(maxPathLength: nil))
        let intermediate = try TestPKI.intermediate(issuer: root, flaws: [.wrongKeyUsage])
        #expect(try X509.Certificate(derEncoded: intermediate.der).extensions.keyUsage?.keyCertSign == false)
    }

    @Test("A leaf has one name per host, and a wildcard host becomes a DNS name")
    func addresses() throws {
        let leaf = try TestPKI.leaf(hosts: ["127.0.0.1", "::1", "*.api.test"], issuer: nil)
        let names = try X509.Certificate(derEncoded: leaf.der).extensions.subjectAlternativeNames
        let kinds = names.map { $0.map { "\($0)".prefix(while: { $0 != "(" && $0 != ":" }) } }
        #expect(names?.count == 3)
        #expect(kinds?.last?.hasPrefix("DNS") == true || kinds?.last?.hasPrefix("dns") == true)
    }
}
