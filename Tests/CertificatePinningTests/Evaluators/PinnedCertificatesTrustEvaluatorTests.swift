import ApproovTesting
import Foundation
import Testing

@testable import CertificatePinning

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

    @Test("the server's certificate, an intermediate or the root may be pinned")
    func anyOfThePath() throws {
        for certificate in [leaf, intermediate, root] { #expect(try refusal(pinned(certificate)) == nil) }
    }

    @Test("another certificate with the same key is another one, and the refusal says that it was renewed")
    func renewed() throws {
        let before = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate, key: leaf.key)
        let refused = try refusal(pinned(before))
        #expect(refused?.reason == .pinMismatch)
        #expect(refused?.detail.contains("renewed") == true)
        #expect(refused?.expected == [leaf.pin])
    }

    @Test("a pinned certificate that the server only sends along is not on the path (C6)")
    func appended() throws {
        let other = try TestPKI.leaf(hosts: ["api.test"], issuer: TestPKI.root("Other"))
        let refused = try refusal(pinned(other), leaf.chain(appending: [other]))
        #expect(refused?.reason == .pinMismatch)
        #expect(refused?.detail.contains("renewed") == false)
    }

    @Test("certificates come from bytes, PEM or DER, from files and from folders")
    func sources() throws {
        try withTemporaryFolder { folder in
            let (pem, der) = (folder + "/one.pem", folder + "/two.cer")
            try (leaf.pem + root.pem).write(toFile: pem, atomically: true, encoding: .utf8)
            try Data(intermediate.der).write(to: URL(filePath: der))
            try "no certificate".write(toFile: folder + "/README", atomically: true, encoding: .utf8)
            for evaluator in [
                try PinnedCertificatesTrustEvaluator(bytes: leaf.der), try PinnedCertificatesTrustEvaluator(bytes: Array(leaf.pem.utf8)),
                try PinnedCertificatesTrustEvaluator(contentsOf: pem), try PinnedCertificatesTrustEvaluator(contentsOf: der),
                try PinnedCertificatesTrustEvaluator(contentsOf: folder),
            ] { #expect(try refusal(evaluator) == nil) }
            #expect(try Certificate.all(at: folder).map(\.der) == [leaf.der, root.der, intermediate.der])
        }
    }

    @Test("an empty folder, an empty list, what is no certificate and what is not there are errors that name the place")
    func badSources() throws {
        try withTemporaryFolder { folder in
            expectPinningError(.noCertificates) { try PinnedCertificatesTrustEvaluator(contentsOf: folder) }
            expectPinningError(.noCertificates) { try PinnedCertificatesTrustEvaluator(certificates: []) }
            expectPinningError(.unreadableFile) { try PinnedCertificatesTrustEvaluator(contentsOf: folder + "/missing.pem") }
            expectPinningError(.malformedCertificate) { try PinnedCertificatesTrustEvaluator(bytes: []) }
            for junk in ["", "junk", leaf.pem + "junk", leaf.pem + leaf.privateKeyPEM, String(leaf.pem.dropLast(40))] {
                try junk.write(toFile: folder + "/bad.pem", atomically: true, encoding: .utf8)
                expectPinningError(.malformedCertificate) { try PinnedCertificatesTrustEvaluator(contentsOf: folder) }
            }
        }
    }

    @Test("the error of a file names the file")
    func named() throws {
        let message = try withTemporaryFolder { folder in
            try leaf.privateKeyPEM.write(toFile: folder + "/bad.pem", atomically: true, encoding: .utf8)
            do {
                _ = try Certificate.all(at: folder)
                return ""
            } catch let error as PinningError {
                return error.message
            }
        }
        #expect(message.contains("/bad.pem") && message.contains("PRIVATE KEY"))
    }

    @Test("without arguments it reads the folder pinned-certificates, and refuses everything where there is none")
    func withoutArguments() throws {
        try withTemporaryFolder { folder in
            let missing = PinnedCertificatesTrustEvaluator(lookingIn: [folder])
            #expect(missing.conditions.flaw?.code == .noCertificates)
            #expect(try refusal(missing)?.reason == .evaluatorFailed)
            let pins = folder + "/" + PinnedCertificatesTrustEvaluator.folderName
            try FileManager.default.createDirectory(atPath: pins, withIntermediateDirectories: true)
            #expect(try refusal(PinnedCertificatesTrustEvaluator(lookingIn: ["/nowhere", folder]))?.reason == .evaluatorFailed)
            try leaf.pem.write(toFile: pins + "/leaf.pem", atomically: true, encoding: .utf8)
            #expect(try refusal(PinnedCertificatesTrustEvaluator(lookingIn: ["/nowhere", folder])) == nil)
        }
        #expect(PinnedCertificatesTrustEvaluator().conditions.flaw?.code == .noCertificates)
    }

    @Test("a self-signed certificate is not accepted for being pinned, and is for being accepted by name")
    func selfSigned() throws {
        let own = try TestPKI.leaf(hosts: ["api.test"], issuer: nil)
        #expect(try refusal(pinned(own), [own])?.reason == .selfSigned)
        let accepting = try PinnedCertificatesTrustEvaluator(certificates: [Certificate(own)], acceptingSelfSigned: true)
        #expect(try refusal(accepting, [own]) == nil)
        // Its own name and dates still count, another self-signed one is refused, and the usual roots no longer lead here.
        #expect(try refusal(accepting, [own], host: "other.test")?.reason == .hostMismatch)
        #expect(try refusal(accepting, [TestPKI.leaf(hosts: ["api.test"], issuer: nil)])?.reason == .selfSigned)
        #expect(try refusal(accepting, [TestPKI.leaf(hosts: ["api.test"], issuer: nil, key: own.key)])?.reason == .selfSigned)
        #expect(try refusal(accepting)?.reason == .incompletePath)
        let late = try judge(
            [own], rule: TrustRule(evaluators: [accepting]), anchors: TrustAnchors(root), time: own.notAfter.addingTimeInterval(60))
        #expect(late.reason == .expired)
    }

    @Test("one that says CA:TRUE, as openssl req -x509 makes them, is accepted as itself and for nothing below it")
    func selfSignedAuthority() throws {
        let own = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, flaws: [.leafIsCA])
        let accepting = try PinnedCertificatesTrustEvaluator(bytes: Array(own.pem.utf8), acceptingSelfSigned: true)
        #expect(try refusal(accepting, [own]) == nil)
        let below = try TestPKI.leaf(hosts: ["api.test"], issuer: own, flaws: [.leafIsCA])
        #expect(try refusal(accepting, [below])?.reason == .leafIsCA)
    }

    @Test("accepting self-signed certificates where there is none, or only expired ones, is an error")
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
