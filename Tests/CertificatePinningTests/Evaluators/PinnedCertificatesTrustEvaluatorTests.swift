import ApproovTesting
import Foundation
import Testing

@testable import CertificatePinning

// Acceptance list: S1.31, S2.75
@Suite("PinnedCertificatesTrustEvaluator")
struct PinnedCertificatesTrustEvaluatorTests {
    private let root: TestCertificate
    private let intermediate: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root()
        intermediate = try TestPKI.intermediate(issuer: root)
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
    }

    private func refusal(
        _ evaluator: PinnedCertificatesTrustEvaluator, _ chain: [TestCertificate]? = nil, host: String = "api.test"
    ) throws -> TrustRefusal? {
        try judge(
            chain ?? leaf.chain(), host: host, rule: TrustRule(evaluators: [evaluator]), anchors: TrustAnchors(root)
        ).refusal
    }

    private func pinned(_ certificates: TestCertificate...) throws -> PinnedCertificatesTrustEvaluator {
        try PinnedCertificatesTrustEvaluator(certificates: certificates.map { try Certificate($0) })
    }

    @Test("The server's certificate, an intermediate or the root may be pinned")
    func anyOfThePath() throws {
        for certificate in [leaf, intermediate, root] { #expect(try refusal(pinned(certificate)) == nil) }
    }

    @Test("A certificate with the same key as the pinned one is refused, and the refusal says that it was renewed")
    func renewed() throws {
        let before = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate, key: leaf.key)
        let refused = try refusal(pinned(before))
        #expect(refused?.reason == .pinMismatch)
        #expect(refused?.detail.contains("renewed") == true)
        #expect(refused?.expected == [leaf.pin])
    }

    @Test("A pinned certificate that the server sends outside the validated path does not count")
    func appended() throws {
        let other = try TestPKI.leaf(hosts: ["api.test"], issuer: TestPKI.root("Other"))
        let refused = try refusal(pinned(other), leaf.chain(appending: [other]))
        #expect(refused?.reason == .pinMismatch)
        #expect(refused?.detail.contains("renewed") == false)
    }

    @Test("Pinned certificates come from PEM or DER bytes, files and folders")
    func sources() throws {
        let folder = try TemporaryFolder()
        let pem = try folder.write(leaf.pem + root.pem, to: "one.pem")
        let der = try folder.write(intermediate.der, to: "two.cer")
        try folder.write("no certificate", to: "README")
        for evaluator in [
            try PinnedCertificatesTrustEvaluator(bytes: leaf.der), try PinnedCertificatesTrustEvaluator(bytes: Array(leaf.pem.utf8)),
            try PinnedCertificatesTrustEvaluator(contentsOf: pem), try PinnedCertificatesTrustEvaluator(contentsOf: der),
            try PinnedCertificatesTrustEvaluator(contentsOf: folder.path),
        ] { #expect(try refusal(evaluator) == nil) }
        #expect(try Certificate.all(at: folder.path).map(\.der) == [leaf.der, root.der, intermediate.der])
    }

    @Test("Empty, missing and malformed sources of certificates are errors")
    func badSources() throws {
        let folder = try TemporaryFolder()
        expectPinningError(.noCertificates) { try PinnedCertificatesTrustEvaluator(contentsOf: folder.path) }
        expectPinningError(.noCertificates) { try PinnedCertificatesTrustEvaluator(certificates: []) }
        expectPinningError(.unreadableFile) { try PinnedCertificatesTrustEvaluator(contentsOf: folder.path("missing.pem")) }
        expectPinningError(.malformedCertificate) { try PinnedCertificatesTrustEvaluator(bytes: []) }
        for junk in ["", "junk", leaf.pem + "junk", leaf.pem + leaf.privateKeyPEM, String(leaf.pem.dropLast(40))] {
            try folder.write(junk, to: "bad.pem")
            expectPinningError(.malformedCertificate) { try PinnedCertificatesTrustEvaluator(contentsOf: folder.path) }
        }
    }

    @Test("The error about a file names the file")
    func named() throws {
        let folder = try TemporaryFolder()
        try folder.write(leaf.privateKeyPEM, to: "bad.pem")
        let message = try #require(#expect(throws: PinningError.self) { try Certificate.all(at: folder.path) }).message
        #expect(message.contains("/bad.pem") && message.contains("PRIVATE KEY"))
    }

    @Test("Without arguments the evaluator reads the folder pinned-certificates; if it has none, no server is trusted")
    func withoutArguments() throws {
        let folder = try TemporaryFolder()
        let missing = PinnedCertificatesTrustEvaluator(lookingIn: [folder.path])
        #expect(missing.conditions.flaw?.code == .noCertificates)
        #expect(try refusal(missing)?.reason == .evaluatorFailed)
        let pins = folder.path(PinnedCertificatesTrustEvaluator.folderName)
        try FileManager.default.createDirectory(atPath: pins, withIntermediateDirectories: true)
        #expect(try refusal(PinnedCertificatesTrustEvaluator(lookingIn: ["/nowhere", folder.path]))?.reason == .evaluatorFailed)
        try folder.write(leaf.pem, to: "\(PinnedCertificatesTrustEvaluator.folderName)/leaf.pem")
        #expect(try refusal(PinnedCertificatesTrustEvaluator(lookingIn: ["/nowhere", folder.path])) == nil)
        #expect(PinnedCertificatesTrustEvaluator().conditions.flaw?.code == .noCertificates)
    }

    @Test("Pinning a self-signed certificate does not make it trusted; acceptingSelfSigned does")
    func selfSigned() throws {
        let own = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        #expect(try refusal(pinned(own), [own])?.reason == .selfSigned)
        let accepting = try PinnedCertificatesTrustEvaluator(certificates: [Certificate(own)], acceptingSelfSigned: true)
        #expect(try refusal(accepting, [own]) == nil)
        // Its host name and dates still count. Another self-signed certificate is refused, and so is a path to the default roots.
        #expect(try refusal(accepting, [own], host: "other.test")?.reason == .hostMismatch)
        #expect(try refusal(accepting, [TestPKI.leaf(hosts: ["api.test"], issuer: nil)])?.reason == .selfSigned)
        #expect(try refusal(accepting, [TestPKI.leaf(hosts: ["api.test"], issuer: nil, key: own.key)])?.reason == .selfSigned)
        #expect(try refusal(accepting)?.reason == .incompletePath)
        let late = try judge(
            [own], rule: TrustRule(evaluators: [accepting]), anchors: TrustAnchors(root), time: own.notAfter.addingTimeInterval(60))
        #expect(late.reason == .expired)
    }

    @Test("A self-signed certificate with CA:TRUE (`openssl req -x509`) is accepted, but none below it is")
    func selfSignedAuthority() throws {
        let own = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, flaws: [.leafIsCA])
        let accepting = try PinnedCertificatesTrustEvaluator(bytes: Array(own.pem.utf8), acceptingSelfSigned: true)
        #expect(try refusal(accepting, [own]) == nil)
        let below = try TestPKI.leaf(hosts: ["api.test"], issuer: own, flaws: [.leafIsCA])
        #expect(try refusal(accepting, [below])?.reason == .leafIsCA)
    }

    @Test("Accepting self-signed certificates is an error if none is given, or only expired ones")
    func noSelfSigned() throws {
        expectPinningError(.noAnchors) {
            try PinnedCertificatesTrustEvaluator(certificates: [Certificate(leaf)], acceptingSelfSigned: true)
        }
        let expired = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, flaws: [.expired])
        expectPinningError(.expiredAnchors) {
            try PinnedCertificatesTrustEvaluator(certificates: [Certificate(expired)], acceptingSelfSigned: true)
        }
    }
}
