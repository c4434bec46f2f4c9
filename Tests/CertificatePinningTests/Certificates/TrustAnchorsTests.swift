import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("TrustAnchors")
struct TrustAnchorsTests {
    @Test("The system's root certificates are loaded")
    func system() throws {
        #expect(try TrustAnchors.system().count > 50)
    }

    @Test("Roots in PEM become anchors, and a duplicate is allowed")
    func pem() throws {
        let root = try TestPKI.root()
        let other = try TestPKI.root("Other")
        #expect(try TrustAnchors(pem: root.pem + other.pem).count == 2)
        // The same root twice is not an error.
        #expect(try judge([TestPKI.leaf(hosts: ["api.test"], issuer: root)], anchors: TrustAnchors(pem: root.pem + root.pem)).isTrusted)
    }

    @Test("A PEM block that is not a certificate is rejected among roots, because it would be ignored silently")
    func foreignBlocks() throws {
        let root = try TestPKI.root()
        for label in ["TRUSTED CERTIFICATE", "CERTIFICATE REQUEST", "PRIVATE KEY"] {
            let foreign = root.pem.replacing("CERTIFICATE", with: label)
            expectPinningError(.malformedCertificate) { try TrustAnchors(pem: root.pem + foreign) }
            expectPinningError(.malformedCertificate) { try TrustAnchors(pem: foreign) }
        }
        #expect(try TrustAnchors(pem: "My root:\n" + root.pem).count == 1)
    }

    @Test("Roots that have all expired are rejected when they are configured; one valid root is enough")
    func expired() throws {
        let now = Date()
        let old = try TestPKI.root(validity: now.addingTimeInterval(-7_200)...now.addingTimeInterval(-3_600))
        expectPinningError(.expiredAnchors) { try TrustAnchors(pem: old.pem, validAt: now) }
        #expect(try TrustAnchors(pem: old.pem, validAt: now.addingTimeInterval(-5_000)).count == 1)
        #expect(try TrustAnchors(pem: old.pem + TestPKI.root("New").pem, validAt: now).count == 2)
    }

    @Test("Roots that are not yet valid are rejected when they are configured, also beside expired ones")
    func notYetValid() throws {
        let now = Date()
        let next = try TestPKI.root("Next", validity: now.addingTimeInterval(3_600)...now.addingTimeInterval(7_200))
        let old = try TestPKI.root("Old", validity: now.addingTimeInterval(-7_200)...now.addingTimeInterval(-3_600))
        for pem in [next.pem, old.pem + next.pem] {
            let error = #expect(throws: PinningError.self) { try TrustAnchors(pem: pem, validAt: now) }
            #expect(error?.code == .anchorsNotYetValid)
            #expect(error?.message.contains("CN=Next") == true)
            #expect(try TrustAnchors(pem: pem, validAt: next.notBefore.addingTimeInterval(60)).count > 0)
        }
        // All have expired later.
        expectPinningError(.expiredAnchors) { try TrustAnchors(pem: old.pem + next.pem, validAt: now.addingTimeInterval(10_000)) }
        #expect(try TrustAnchors(pem: next.pem + TestPKI.root("New").pem, validAt: now).count == 2)
    }

    @Test("A root is valid from its first moment to its last")
    func validity() throws {
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        let root = try TestPKI.root(validity: start...start.addingTimeInterval(3_600))
        for seconds in [0.0, 3_600] {
            #expect(try TrustAnchors(pem: root.pem, validAt: start.addingTimeInterval(seconds)).count == 1)
        }
        expectPinningError(.anchorsNotYetValid) { try TrustAnchors(pem: root.pem, validAt: start.addingTimeInterval(-1)) }
        expectPinningError(.expiredAnchors) { try TrustAnchors(pem: root.pem, validAt: start.addingTimeInterval(3_601)) }
    }

    @Test("Anchors without a root are rejected, because no server could ever be trusted")
    func noRoot() throws {
        let root = try TestPKI.root()
        expectPinningError(.noAnchors) { try TrustAnchors(TestPKI.intermediate(issuer: root)) }
        expectPinningError(.noAnchors) { try TrustAnchors(certificates: []) }
        expectPinningError(.malformedCertificate) { try TrustAnchors(pem: "") }
        expectPinningError(.malformedCertificate) { try TrustAnchors(pem: String(root.pem.dropLast(40))) }
    }

    @Test("The environment variables SSL_CERT_FILE and SSL_CERT_DIR cannot add a root")
    func environment() async {
        // In a separate process, because all tests of this process share its environment.
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

    @Test("An intermediate that is listed beside a root does not become an anchor")
    func intermediateIsNoAnchor() throws {
        let foreign = try TestPKI.root("Foreign")
        let intermediate = try TestPKI.intermediate(issuer: foreign)
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let anchors = try TrustAnchors(TestPKI.root(), intermediate)
        #expect(try judge([leaf], anchors: anchors).reason == .incompletePath)
    }
}
