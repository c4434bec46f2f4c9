import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("TrustAnchors")
struct TrustAnchorsTests {
    @Test("the system's bundle is loaded, and every certificate of it is counted")
    func system() throws {
        #expect(try TrustAnchors.system().count > 50)
    }

    @Test("roots of a PEM text are anchors")
    func pem() throws {
        let root = try TestPKI.root()
        let other = try TestPKI.root("Other")
        #expect(try TrustAnchors(pem: root.pem + other.pem).count == 2)
        // The same root twice is no error.
        #expect(try judge([TestPKI.leaf(hosts: ["api.test"], issuer: root)], anchors: TrustAnchors(pem: root.pem + root.pem)).isTrusted)
    }

    @Test("a block that is no certificate is refused among roots: it would be a root that is there and does not count")
    func foreignBlocks() throws {
        let root = try TestPKI.root()
        for label in ["TRUSTED CERTIFICATE", "CERTIFICATE REQUEST", "PRIVATE KEY"] {
            let foreign = root.pem.replacing("CERTIFICATE", with: label)
            expectPinningError(.malformedCertificate) { try TrustAnchors(pem: root.pem + foreign) }
            expectPinningError(.malformedCertificate) { try TrustAnchors(pem: foreign) }
        }
        #expect(try TrustAnchors(pem: "My root:\n" + root.pem).count == 1)
    }

    @Test("roots that are configured now are refused where none of them holds; one that does is enough")
    func expired() throws {
        let now = Date()
        let old = try TestPKI.root(validity: now.addingTimeInterval(-7_200)...now.addingTimeInterval(-3_600))
        expectPinningError(.expiredAnchors) { try TrustAnchors(pem: old.pem, validAt: now) }
        #expect(try TrustAnchors(pem: old.pem, validAt: now.addingTimeInterval(-5_000)).count == 1)
        #expect(try TrustAnchors(pem: old.pem + TestPKI.root("New").pem, validAt: now).count == 2)
    }

    @Test("anchors without a root are refused: nothing could ever be trusted")
    func noRoot() throws {
        let root = try TestPKI.root()
        expectPinningError(.noAnchors) { try TrustAnchors(TestPKI.intermediate(issuer: root)) }
        expectPinningError(.noAnchors) { try TrustAnchors(certificates: []) }
        expectPinningError(.malformedCertificate) { try TrustAnchors(pem: "") }
        expectPinningError(.malformedCertificate) { try TrustAnchors(pem: String(root.pem.dropLast(40))) }
    }

    @Test("the environment cannot add a root: SSL_CERT_FILE and SSL_CERT_DIR have no effect")
    func environment() async {
        // In a separate process: the environment is shared by all tests of this one.
        await #expect(processExitsWith: .success) {
            let evil = try TestPKI.root("Evil")
            let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: evil)
            let folder = try TemporaryFolder()
            setenv("SSL_CERT_FILE", try folder.write(evil.pem, to: "evil.pem"), 1)
            setenv("SSL_CERT_DIR", folder.path, 1)
            let anchors = try TrustAnchors.system()
            try #require(judge([leaf], anchors: anchors).reason == .incompletePath)
            try #require(judge([leaf, evil], anchors: anchors).reason == .untrustedRoot)
        }
    }

    @Test("an intermediate beside a root does not become an anchor by being listed")
    func intermediateIsNoAnchor() throws {
        let foreign = try TestPKI.root("Foreign")
        let intermediate = try TestPKI.intermediate(issuer: foreign)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let anchors = try TrustAnchors(TestPKI.root(), intermediate)
        #expect(try judge([leaf], anchors: anchors).reason == .incompletePath)
    }
}
