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
        // In a process of its own: the environment is shared by all tests of this one.
        await #expect(processExitsWith: .success) {
            let evil = try TestPKI.root("Evil")
            let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: evil)
            try withTemporaryFolder { folder in
                let file = folder + "/evil.pem"
                try evil.pem.write(toFile: file, atomically: true, encoding: .utf8)
                setenv("SSL_CERT_FILE", file, 1)
                setenv("SSL_CERT_DIR", folder, 1)
                let anchors = try TrustAnchors.system()
                try #require(judge([leaf], anchors: anchors).reason == .incompletePath)
                try #require(judge([leaf, evil], anchors: anchors).reason == .untrustedRoot)
            }
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
