import ApproovTesting
import COpenSSL
import Foundation
import Testing

@testable import CertificatePinning

@Suite("RevocationTrustEvaluator")
struct RevocationTrustEvaluatorTests {
    private static let responder = "http://ocsp.test/"
    private static let listURL = "http://crl.test/list"

    private let root: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root()
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root, revocation: TestRevocation(ocsp: Self.responder, crl: Self.listURL))
    }

    /// The leaf's refusal, given a stapled response and the results of look-ups; nil if it is trusted.
    private func refusal(
        _ evaluator: RevocationTrustEvaluator = RevocationTrustEvaluator(), _ certificate: TestCertificate? = nil, staple: [UInt8]? = nil,
        ocsp: TrustLookupResult? = nil, crl: TrustLookupResult? = nil, time: Date = Date()
    ) throws -> TrustRefusal? {
        let certificate = certificate ?? leaf
        var results: [TrustLookup: TrustLookupResult] = [:]
        if let ocsp, let issuer = certificate.issuers.first {
            let issued = IssuedCertificate(certificate: try Certificate(certificate), issuer: try Certificate(issuer))
            let request = try #require(OCSPResponse.request(for: issued))
            results[TrustLookup(kind: .ocsp, url: Self.responder, requestBody: request)] = ocsp
        }
        if let crl {
            let lookup = TrustLookup(kind: .crl, url: Self.listURL)
            results[lookup] = crl.failure == nil ? TrustLookupResult(of: lookup, bytes: crl.bytes, receivedAt: crl.receivedAt) : crl
        }
        return try ChainValidator.evaluate(
            chain: certificate.chain().map { try Certificate($0) }, host: CanonicalHost("api.test"),
            rule: TrustRule(evaluators: [evaluator]), defaultAnchors: TrustAnchors(root), time: time, stapledResponse: staple,
            lookupResults: results
        ).refusal
    }

    /// A successful OCSP look-up, which `refusal` turns into a CRL look-up if it is passed as `crl`.
    private func result(_ bytes: [UInt8]) -> TrustLookupResult {
        TrustLookupResult(of: TrustLookup(kind: .ocsp, url: Self.responder), bytes: bytes, receivedAt: Date())
    }

    private static let stapled = RevocationTrustEvaluator(sources: .withoutNetwork)

    // MARK: Good and revoked certificates

    @Test("A stapled response decides without the network")
    func staple() throws {
        #expect(try refusal(staple: TestPKI.ocspResponse(for: leaf)) == nil)
        let revoked = try refusal(staple: TestPKI.ocspResponse(for: leaf, status: .revoked))
        #expect(revoked?.reason == .revoked)
        #expect(revoked?.detail.contains("since") == true)
    }

    @Test("Without a staple, the evaluator asks OCSP first, and the CRL only if OCSP fails")
    func order() throws {
        let first = try refusal()
        #expect(first?.reason == .lookupsUnavailable)
        #expect(first?.lookups.map(\.kind) == [.ocsp])
        #expect(first?.lookups.first?.url == Self.responder)
        let failed = TrustLookupResult(failure: "no server there", receivedAt: Date())
        let second = try refusal(ocsp: failed)
        #expect(second?.lookups == [TrustLookup(kind: .crl, url: Self.listURL)])
        #expect(try refusal(ocsp: failed, crl: result(TestPKI.revocationList(of: root))) == nil)
        let last = try refusal(ocsp: failed, crl: failed)
        #expect(last?.reason == .revocationUnknown)
        #expect(last?.detail.contains("no server there") == true)
    }

    @Test("If the first responder fails, the second and both CRLs are asked at once, and one valid answer decides")
    func secondPlaces() throws {
        let others = (ocsp: "http://ocsp2.test/", crl: "http://crl2.test/list")
        let certificate = try TestPKI.leaf(
            hosts: ["api.test"], issuer: root,
            revocation: TestRevocation(ocsp: Self.responder, crl: Self.listURL, second: (others.ocsp, others.crl)))
        func refusal(_ results: [TrustLookup: TrustLookupResult]) throws -> TrustRefusal? {
            try ChainValidator.evaluate(
                chain: certificate.chain().map { try Certificate($0) }, host: CanonicalHost("api.test"),
                rule: TrustRule(evaluators: [RevocationTrustEvaluator()]), defaultAnchors: TrustAnchors(root), time: Date(),
                lookupResults: results
            ).refusal
        }
        let first = try #require(try refusal([:])?.lookups)
        #expect(first.map(\.url) == [Self.responder])
        let down = TrustLookupResult(failure: "down", receivedAt: Date())
        let rest = try #require(try refusal([first[0]: down])?.lookups)
        try #require(rest.map(\.url) == [others.ocsp, Self.listURL, others.crl])
        #expect(rest[0].requestBody == first[0].requestBody)
        let none = Dictionary(uniqueKeysWithValues: (first + rest).map { ($0, down) })
        #expect(try refusal(none)?.reason == .revocationUnknown)
        for (index, answer) in [
            (0, try TestPKI.ocspResponse(for: certificate, status: .revoked)),
            (2, try TestPKI.revocationList(of: root, revoking: [certificate])),
        ] {
            let revoked = TrustLookupResult(of: rest[index], bytes: answer, receivedAt: Date())
            #expect(try refusal(none.merging([rest[index]: revoked]) { $1 })?.reason == .revoked)
        }
        let good = TrustLookupResult(of: rest[0], bytes: try TestPKI.ocspResponse(for: certificate), receivedAt: Date())
        #expect(try refusal(none.merging([rest[0]: good]) { $1 }) == nil)
    }

    @Test("The result of a CRL look-up holds a parsed list that tasks can share; that of an OCSP look-up holds none")
    func parsedLists() async throws {
        let lookup = TrustLookup(kind: .crl, url: Self.listURL)
        let others = try (0..<200).map { _ in try TestPKI.leaf(hosts: ["b.test"], issuer: root) }
        let bytes = try TestPKI.revocationList(of: root, revoking: others + [leaf])
        let result = TrustLookupResult(of: lookup, bytes: bytes, receivedAt: Date())
        let list = try #require(result.list).get()
        let (ours, clean) = try (leaf, TestPKI.leaf(hosts: ["c.test"], issuer: root))
        let issuer = try Certificate(root)
        // Handshakes of several transports may query one list at the same time.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for certificate in [ours, clean, ours, clean, ours, clean] {
                let issued = IssuedCertificate(certificate: try Certificate(certificate), issuer: issuer)
                let isOurs = certificate.der == ours.der
                group.addTask {
                    for _ in 0..<50 {
                        let value = try list.status(of: issued, at: Date()).value
                        #expect((value == .good) != isOurs)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(throws: RevocationProblem.self) { try TrustLookupResult(of: lookup, bytes: [1], receivedAt: Date()).list?.get() }
        #expect(TrustLookupResult(of: TrustLookup(kind: .ocsp, url: "http://a.test"), bytes: bytes, receivedAt: Date()).list == nil)
    }

    @Test("An OCSP response that was looked up accepts a good certificate and refuses a revoked one")
    func ocsp() throws {
        #expect(try refusal(ocsp: result(TestPKI.ocspResponse(for: leaf))) == nil)
        #expect(try refusal(ocsp: result(TestPKI.ocspResponse(for: leaf, status: .revoked)))?.reason == .revoked)
    }

    @Test("The evaluator refuses a certificate that is on the CRL, and accepts one that is not")
    func crl() throws {
        let evaluator = { RevocationTrustEvaluator(sources: .crl) }
        let other = try TestPKI.leaf(hosts: ["b.test"], issuer: root)
        #expect(try refusal(evaluator(), crl: result(TestPKI.revocationList(of: root, revoking: [other]))) == nil)
        #expect(try refusal(evaluator(), crl: result(TestPKI.revocationList(of: root, revoking: [other, leaf])))?.reason == .revoked)
    }

    @Test("openssl sends the same OCSP request, and accepts the response of the test PKI (a second opinion)")
    func secondOpinion() async throws {
        let folder = try TemporaryFolder()
        try folder.write(root.pem, to: "root.pem")
        try folder.write(leaf.pem, to: "leaf.pem")
        try await openssl(
            "ocsp", "-issuer", folder.path("root.pem"), "-cert", folder.path("leaf.pem"), "-no_nonce", "-reqout", folder.path("request"))
        let issued = IssuedCertificate(certificate: try Certificate(leaf), issuer: try Certificate(root))
        #expect(try Data(contentsOf: folder.file("request")) == Data(try #require(OCSPResponse.request(for: issued))))
        try folder.write(TestPKI.ocspResponse(for: leaf), to: "response")
        try await openssl(
            "ocsp", "-issuer", folder.path("root.pem"), "-cert", folder.path("leaf.pem"), "-respin", folder.path("response"), "-CAfile",
            folder.path("root.pem"))
    }

    // MARK: Authorized responders

    @Test("A responder may answer only if its certificate from the issuer is valid and is for OCSP")
    func delegated() throws {
        let responder = try TestPKI.ocspResponder(issuer: root)
        #expect(try refusal(staple: TestPKI.ocspResponse(for: leaf, signedBy: responder)) == nil)
        let server = try TestPKI.ocspResponder(issuer: root, isAuthorized: false)
        let refused = try refusal(Self.stapled, staple: TestPKI.ocspResponse(for: leaf, signedBy: server))
        #expect(refused?.reason == .revocationUnknown)
        let old = Date(timeIntervalSinceNow: -864_000)
        let expired = try TestPKI.ocspResponder(issuer: root, validity: old...old.addingTimeInterval(86_400))
        #expect(try refusal(Self.stapled, staple: TestPKI.ocspResponse(for: leaf, signedBy: expired))?.reason == .revocationUnknown)
    }

    @Test("An answer that another authority signed does not count, even if that authority is a trusted root")
    func foreignSigner() throws {
        let other = try TestPKI.root("Other Root")
        let foreign = try TestPKI.ocspResponse(for: leaf, signedBy: other)
        #expect(try refusal(Self.stapled, staple: foreign)?.reason == .revocationUnknown)
        let delegate = try TestPKI.ocspResponder(issuer: other)
        #expect(try refusal(Self.stapled, staple: TestPKI.ocspResponse(for: leaf, signedBy: delegate))?.reason == .revocationUnknown)
        // The root above the issuer signs for the issuer, not for what the issuer certified (RFC 6960, section 4.2.2.2).
        let intermediate = try TestPKI.intermediate(issuer: root)
        let below = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        #expect(
            try refusal(Self.stapled, below, staple: TestPKI.ocspResponse(for: below, signedBy: root))?.reason == .revocationUnknown)
        #expect(try refusal(Self.stapled, below, staple: TestPKI.ocspResponse(for: below)) == nil)
    }

    @Test("A delta CRL does not count, because it lists only the changes to another list")
    func deltaList() throws {
        for revoked in [[], [leaf]] {
            let delta = try TestPKI.revocationList(of: root, revoking: revoked, deltaOf: 1)
            #expect(try refusal(RevocationTrustEvaluator(sources: .crl), crl: result(delta))?.reason == .revocationUnknown)
        }
    }

    @Test("A CRL that another authority signed or issued does not count")
    func foreignList() throws {
        let list = try TestPKI.revocationList(of: root, signedBy: TestPKI.root("Other Root"))
        #expect(try refusal(RevocationTrustEvaluator(sources: .crl), crl: result(list))?.reason == .revocationUnknown)
        let others = try TestPKI.revocationList(of: TestPKI.root("Other Root"))
        #expect(try refusal(RevocationTrustEvaluator(sources: .crl), crl: result(others))?.reason == .revocationUnknown)
    }

    // MARK: Answers that do not count

    @Test("A response about another certificate, or about a certificate of another issuer, does not count")
    func otherCertificate() throws {
        let other = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        #expect(try refusal(Self.stapled, staple: TestPKI.ocspResponse(for: other))?.reason == .revocationUnknown)
        let twin = try TestPKI.root("Other Root")
        let renamed = try TestPKI.ocspResponse(for: leaf, signedBy: root, issuer: twin)
        #expect(try refusal(Self.stapled, staple: renamed)?.reason == .revocationUnknown)
    }

    @Test("The status is unknown if the responder does not know it or has no time, or if no response is stapled")
    func unknown() throws {
        #expect(try refusal(Self.stapled, staple: TestPKI.ocspResponse(for: leaf, status: .unknown))?.reason == .revocationUnknown)
        #expect(try refusal(Self.stapled, staple: TestPKI.ocspTryLater())?.reason == .revocationUnknown)
        #expect(try refusal(Self.stapled)?.reason == .revocationUnknown)
    }

    @Test("Expired and future answers do not count; a response without nextUpdate counts only while it is fresh")
    func dates() throws {
        let now = Date()
        for (start, end) in [(-7_200.0, -3_600.0), (3_600, 7_200), (-100, -200)] {
            let (from, until) = (now.addingTimeInterval(start), now.addingTimeInterval(end))
            let response = try TestPKI.ocspResponse(for: leaf, thisUpdate: from, nextUpdate: until)
            #expect(try refusal(Self.stapled, staple: response)?.reason == .revocationUnknown)
            let list = try TestPKI.revocationList(of: root, thisUpdate: from, nextUpdate: until)
            #expect(try refusal(RevocationTrustEvaluator(sources: .crl), crl: result(list))?.reason == .revocationUnknown)
        }
        // The clocks of issuer and client may differ by five minutes.
        for (start, end) in [(120.0, 7_200.0), (-7_200, -120)] {
            let (from, until) = (now.addingTimeInterval(start), now.addingTimeInterval(end))
            let response = try TestPKI.ocspResponse(for: leaf, thisUpdate: from, nextUpdate: until)
            #expect(try refusal(Self.stapled, staple: response) == nil)
            let list = try TestPKI.revocationList(of: root, thisUpdate: from, nextUpdate: until)
            #expect(try refusal(RevocationTrustEvaluator(sources: .crl), crl: result(list)) == nil)
            let revoked = try TestPKI.revocationList(of: root, revoking: [leaf], thisUpdate: from, nextUpdate: until)
            #expect(try refusal(RevocationTrustEvaluator(sources: .crl), crl: result(revoked))?.reason == .revoked)
        }
        let endless = try TestPKI.ocspResponse(for: leaf, nextUpdate: nil)
        #expect(try refusal(Self.stapled, staple: endless) == nil)
        let old = try TestPKI.ocspResponse(for: leaf, thisUpdate: now.addingTimeInterval(-7_200), nextUpdate: nil)
        #expect(try refusal(RevocationTrustEvaluator(sources: .withoutNetwork), staple: old)?.reason == .revocationUnknown)
    }

    @Test("Truncated or extended answers are rejected; no flipped byte crashes or makes a good certificate revoked")
    func garbage() throws {
        let response = try TestPKI.ocspResponse(for: leaf, signedBy: TestPKI.ocspResponder(issuer: root))
        let list = try TestPKI.revocationList(of: root)
        let issued = IssuedCertificate(certificate: try Certificate(leaf), issuer: try Certificate(root))
        for count in stride(from: 0, to: response.count, by: 3) {
            #expect(throws: RevocationProblem.self) { try OCSPResponse.status(Array(response[..<count]), of: issued, at: Date()) }
        }
        for count in list.indices {
            #expect(throws: RevocationProblem.self) { try RevocationList(der: Array(list[..<count])).status(of: issued, at: Date()) }
        }
        #expect(throws: RevocationProblem.self) { try OCSPResponse.status(response + [0], of: issued, at: Date()) }
        #expect(throws: RevocationProblem.self) { try RevocationList(der: list + [0]).status(of: issued, at: Date()) }
        for index in stride(from: 0, to: response.count, by: 2) {
            var bytes = response
            bytes[index] ^= 0x41
            // A flipped byte of the responder's certificate may change nothing that matters. A valid response must still say good.
            if let status = try? OCSPResponse.status(bytes, of: issued, at: Date()) { #expect(status.value == .good) }
        }
        for index in list.indices {
            var bytes = list
            bytes[index] ^= 0x41
            _ = try? RevocationList(der: bytes).status(of: issued, at: Date())
        }
    }

    @Test("A signature over a weak digest does not count, even if PSS parameters only imply the digest")
    func digests() throws {
        // AlgorithmIdentifiers (RFC 4055, RFC 8410, RFC 5758).
        let pss = "06092a864886f70d01010a"
        let sha = "300b06096086480165030402"
        func withParameters(_ digest: String) -> String { "301e" + pss + "3011" + "a00f" + "300d" + digest + "0500" }
        let strong = [
            "303e" + pss + "3031" + "a00d" + sha + "01" + "a11a301806092a864886f70d010108" + sha + "01" + "a204020200de",
            withParameters("0609608648016503040201"), withParameters("0609608648016503040202"), withParameters("0609608648016503040203"),
            "300506032b6570", "300506032b6571",
            "300d06092a864886f70d01010b0500", "300a06082a8648ce3d040302",
        ]
        let weak = [
            "300d" + pss + "3000", "300b" + pss, "300d" + pss + "0500", "301a" + pss + "300d" + "a00b" + "3009" + "06052b0e03021a" + "0500",
            withParameters("0609608648016503040204"), "300d06092a864886f70d0101050500", "300d06092a864886f70d0101040500",
            "300906072a8648ce3d0401",
            "300506032a0304",
        ]
        for (texts, isStrong) in [(strong, true), (weak, false)] {
            for text in texts {
                let bytes = hexadecimal(text)
                let algorithm = bytes.withUnsafeBufferPointer { buffer in
                    var cursor = buffer.baseAddress
                    return d2i_X509_ALGOR(nil, &cursor, buffer.count)
                }
                defer { X509_ALGOR_free(algorithm) }
                let parsed = try #require(algorithm, "\(text)")
                #expect(((try? RevocationRules.requireStrongDigest(parsed)) != nil) == isStrong, "\(text)")
            }
        }
        #expect(throws: RevocationProblem.self) { try RevocationRules.requireStrongDigest(nil) }
    }

    private func hexadecimal(_ text: String) -> [UInt8] {
        let digits = Array(text)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }

    // MARK: Options

    @Test("With soft failure a server that cannot be checked is accepted and logged once; a revoked one is refused")
    func soft() throws {
        let logs = LogRecord()
        let evaluator = RevocationTrustEvaluator(sources: .all, failure: .soft, logger: logs.logger)
        let failed = TrustLookupResult(failure: "no server there", receivedAt: Date())
        #expect(try refusal(evaluator)?.lookups.count == 1)
        #expect(try refusal(evaluator, ocsp: failed, crl: failed) == nil)
        // It is not looked up again for five minutes.
        #expect(try refusal(evaluator) == nil)
        #expect(try refusal(evaluator, time: Date(timeIntervalSinceNow: 301))?.lookups.count == 1)
        #expect(logs.lines.count == 1)
        #expect(try refusal(evaluator, staple: TestPKI.ocspResponse(for: leaf, status: .revoked))?.reason == .revoked)
    }

    @Test("When no more look-ups are made, a server that was not looked up is refused, also with soft failure; recent answers count")
    func lastVerdict() throws {
        let context = try #require(SSL_CTX_new(TLS_client_method()))
        defer { SSL_CTX_free(context) }
        let connection = try #require(SSL_new(context))
        defer { SSL_free(connection) }
        let trust = try judge(leaf.chain(), anchors: TrustAnchors(root)).get()
        let logs = LogRecord()
        let soft = RevocationTrustEvaluator(sources: .ocsp, failure: .soft, logger: logs.logger)
        func last(
            _ evaluator: RevocationTrustEvaluator, isLast: Bool = true, recent: [TrustLookup: TrustLookupResult] = [:]
        ) -> TrustRefusal? {
            ChainValidator.evaluate(
                status: connection, of: trust, rule: TrustRule(evaluators: [evaluator]),
                recentResults: { needed in recent.filter { needed.contains($0.key) } }, isLast: isLast
            ).refusal
        }
        let needed = try #require(last(soft, isLast: false)?.lookups)
        for evaluator in [soft, RevocationTrustEvaluator(sources: .ocsp)] {
            let refused = last(evaluator)
            #expect(refused?.reason == .lookupsUnavailable && refused?.detail.contains("send the request again") == true)
            // The next connection looks again.
            #expect(last(evaluator, isLast: false)?.lookups == needed)
        }
        // A recent answer counts, with hard and with soft failure.
        let cases: [(TestStatus, TrustRefusal.Reason?)] = [(.good, nil), (.revoked, .revoked)]
        for (status, reason) in cases {
            let answer = TrustLookupResult(
                of: needed[0], bytes: try TestPKI.ocspResponse(for: leaf, status: status), receivedAt: Date())
            for failure in [RevocationTrustEvaluator.Failure.hard, .soft] {
                let evaluator = RevocationTrustEvaluator(sources: .ocsp, failure: failure, logger: logs.logger)
                #expect(last(evaluator, recent: [needed[0]: answer])?.reason == reason)
            }
        }
    }

    @Test("The remedy of an unknown status is never cut off, however long the problems and the subject are")
    func longProblem() throws {
        let long = "http://" + String(repeating: "h", count: 900) + ".test/"
        let revocation = TestRevocation(ocsp: long + "1", crl: long + "2", second: (long + "3", long + "4"))
        let intermediate = try TestPKI.intermediate(String(repeating: "s", count: 250), issuer: root, revocation: revocation)
        let below = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let failed = TrustLookupResult(failure: String(repeating: "f", count: 400), receivedAt: Date())
        let (evaluator, staple) = (RevocationTrustEvaluator(), try TestPKI.ocspResponse(for: below))
        var results: [TrustLookup: TrustLookupResult] = [:]
        var refused: TrustRefusal?
        for _ in 1...3 {
            refused = try ChainValidator.evaluate(
                chain: below.chain().map { try Certificate($0) }, host: CanonicalHost("api.test"),
                rule: TrustRule(evaluators: [evaluator]), defaultAnchors: TrustAnchors(root), time: Date(), stapledResponse: staple,
                lookupResults: results
            ).refusal
            for lookup in refused?.lookups ?? [] { results[lookup] = failed }
        }
        #expect(results.count == 4)
        #expect(refused?.reason == .revocationUnknown)
        #expect(refused?.detail.hasSuffix("or allow such servers with failure: .soft") == true, "\(refused?.detail ?? "none")")
    }

    @Test("A leaf that names no revocation source is refused; an intermediate that names none is accepted")
    func noSource() throws {
        let bare = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        #expect(try refusal(RevocationTrustEvaluator(), bare)?.reason == .revocationUnknown)
        let intermediate = try TestPKI.intermediate(issuer: root)
        let below = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        #expect(try refusal(RevocationTrustEvaluator(), below, staple: TestPKI.ocspResponse(for: below)) == nil)
    }

    @Test("The status of an intermediate is unknown, not good, if the evaluator uses none of the sources it names")
    func unreadSource() throws {
        let cases: [(RevocationTrustEvaluator.Sources, TestRevocation)] = [
            ([.stapledResponse, .ocsp], TestRevocation(crl: Self.listURL)),
            ([.stapledResponse, .crl], TestRevocation(ocsp: Self.responder)),
            (.all, TestRevocation(crl: "https://crl.test/list")), (.all, TestRevocation(crl: "ldap://crl.test/list")),
            (.all, TestRevocation(ocsp: "https://ocsp.test/", issuer: "http://ca.test/ca.cer")),
        ]
        for (sources, revocation) in cases {
            let below = try TestPKI.leaf(hosts: ["api.test"], issuer: TestPKI.intermediate(issuer: root, revocation: revocation))
            let staple = try TestPKI.ocspResponse(for: below)
            let refused = try refusal(RevocationTrustEvaluator(sources: sources), below, staple: staple)
            #expect(refused?.reason == .revocationUnknown && refused?.detail.contains("Test Intermediate") == true, "\(revocation)")
            #expect(try refusal(RevocationTrustEvaluator(sources: sources, scope: .leaf), below, staple: staple) == nil)
            // A staple says nothing about an intermediate. If staples are the only source, intermediates are not judged.
            #expect(try refusal(RevocationTrustEvaluator(sources: .withoutNetwork), below, staple: staple) == nil)
            let logs = LogRecord()
            let soft = RevocationTrustEvaluator(sources: sources, failure: .soft, logger: logs.logger)
            #expect(try refusal(soft, below, staple: staple) == nil)
            #expect(logs.lines.count == 1)
        }
        // The address of the issuer's certificate is not a revocation source.
        let plain = try TestPKI.intermediate(issuer: root, revocation: TestRevocation(issuer: "http://ca.test/ca.cer"))
        let below = try TestPKI.leaf(hosts: ["api.test"], issuer: plain)
        #expect(try refusal(RevocationTrustEvaluator(), below, staple: TestPKI.ocspResponse(for: below)) == nil)
    }

    @Test("Intermediates that name a source are checked, unless the scope is the leaf")
    func intermediates() throws {
        let intermediate = try TestPKI.intermediate(issuer: root, revocation: TestRevocation(crl: Self.listURL))
        let below = try TestPKI.leaf(hosts: ["api.test"], issuer: intermediate)
        let staple = try TestPKI.ocspResponse(for: below)
        #expect(try refusal(RevocationTrustEvaluator(), below, staple: staple)?.lookups.map(\.url) == [Self.listURL])
        let revoking = try TestPKI.revocationList(of: root, revoking: [intermediate])
        let refused = try refusal(RevocationTrustEvaluator(), below, staple: staple, crl: result(revoking))
        #expect(refused?.reason == .revoked && refused?.detail.contains("Test Intermediate") == true)
        #expect(try refusal(RevocationTrustEvaluator(sources: .all, scope: .leaf), below, staple: staple) == nil)
    }

    @Test("URLs that are too long or not plain HTTP are ignored")
    func schemes() throws {
        for url in ["https://ocsp.test/", "ldap://ocsp.test/", "file:///etc/passwd", "http://" + String(repeating: "a", count: 2_000)] {
            let certificate = try TestPKI.leaf(hosts: ["api.test"], issuer: root, revocation: TestRevocation(ocsp: url, crl: url))
            #expect(try refusal(RevocationTrustEvaluator(), certificate)?.reason == .revocationUnknown)
        }
    }

    // MARK: Cache

    @Test("The evaluator keeps a verified answer until it expires, but no malformed one while other sources remain")
    func kept() throws {
        let evaluator = RevocationTrustEvaluator()
        #expect(try refusal(evaluator, ocsp: result([1, 2, 3]))?.lookups.map(\.kind) == [.crl])
        #expect(try refusal(evaluator)?.lookups.map(\.kind) == [.ocsp])
        #expect(try refusal(evaluator, ocsp: result(TestPKI.ocspResponse(for: leaf))) == nil)
        #expect(try refusal(evaluator) == nil)
        #expect(try refusal(evaluator, time: Date(timeIntervalSinceNow: 3_700))?.lookups.map(\.kind) == [.ocsp])
        // Every evaluator has its own cache.
        #expect(try refusal()?.lookups.map(\.kind) == [.ocsp])
    }

    @Test("After an answer that does not count, the server stays refused for 30 seconds without another look-up")
    func keptProblem() throws {
        let (evaluator, now) = (RevocationTrustEvaluator(sources: .crl), Date())
        let stale = try result(TestPKI.revocationList(of: root, nextUpdate: now.addingTimeInterval(-1_000)))
        let fresh = try result(TestPKI.revocationList(of: root))
        #expect(try refusal(evaluator, crl: stale, time: now)?.detail.contains("is not valid") == true)
        for time in [now, now.addingTimeInterval(30)] {
            // The evaluator asks for no look-up, and does not judge one that another caller awaited.
            for crl in [nil, fresh] {
                let refused = try refusal(evaluator, crl: crl, time: time)
                #expect(refused?.reason == .revocationUnknown && refused?.lookups == [])
                #expect(refused?.detail.contains("is not valid") == true)
            }
        }
        #expect(try refusal(evaluator, time: now.addingTimeInterval(31))?.reason == .lookupsUnavailable)
        // The time counts from when the answer came, which may have been for another request.
        let other = RevocationTrustEvaluator(sources: .crl)
        let earlier = TrustLookupResult(of: TrustLookup(kind: .crl, url: Self.listURL), bytes: stale.bytes, receivedAt: now)
        #expect(try refusal(other, crl: earlier, time: now.addingTimeInterval(29))?.reason == .revocationUnknown)
        #expect(try refusal(other, time: now.addingTimeInterval(31))?.reason == .lookupsUnavailable)
        // A staple is judged all the same.
        let stapled = RevocationTrustEvaluator(sources: [.stapledResponse, .crl])
        #expect(try refusal(stapled, crl: stale, time: now)?.reason == .revocationUnknown)
        #expect(try refusal(stapled, staple: TestPKI.ocspResponse(for: leaf), time: now) == nil)
    }

    @Test("A failed look-up is retried at once, and setting the clock back ends the wait after an invalid answer")
    func forgottenProblem() throws {
        let (evaluator, now) = (RevocationTrustEvaluator(sources: .crl), Date())
        #expect(try refusal(evaluator, crl: TrustLookupResult(failure: "down", receivedAt: now))?.reason == .revocationUnknown)
        #expect(try refusal(evaluator)?.reason == .lookupsUnavailable)
        #expect(try refusal(evaluator, crl: result([1, 2, 3]), time: now)?.reason == .revocationUnknown)
        #expect(try refusal(evaluator, time: now.addingTimeInterval(-60))?.reason == .lookupsUnavailable)
    }

    @Test("A revoked certificate stays revoked, even if the server staples a valid older answer that says good")
    func staysRevoked() throws {
        let evaluator = RevocationTrustEvaluator()
        let good = try TestPKI.ocspResponse(for: leaf)
        #expect(try refusal(evaluator, staple: TestPKI.ocspResponse(for: leaf, status: .revoked))?.reason == .revoked)
        #expect(try refusal(evaluator, staple: good)?.reason == .revoked)
    }

    @Test("The cache is bounded, drops the least recently used entry first, and forgets expired entries")
    func bounded() throws {
        let cache = RevocationCache(capacity: 2)
        let issuer = try Certificate(root)
        let keys = try (0..<3).map { number in
            RevocationCache.Key(
                IssuedCertificate(certificate: try Certificate(TestPKI.leaf(hosts: ["\(number).test"], issuer: root)), issuer: issuer))
        }
        let (now, end) = (Date(), Date(timeIntervalSinceNow: 60))
        let good = RevocationCache.Knowledge.status(RevocationStatus(value: .good, validUntil: end))
        for key in keys.prefix(2) { cache.store(good, of: key, at: now, until: end) }
        #expect(cache.knowledge(of: keys[0], at: now) == good)
        cache.store(good, of: keys[2], at: now, until: end)
        #expect(cache.count == 2)
        #expect(cache.knowledge(of: keys[1], at: now) == nil)
        #expect(cache.knowledge(of: keys[0], at: now) == good)
        #expect(cache.knowledge(of: keys[0], at: end.addingTimeInterval(1)) == nil)
    }

    // MARK: In a handshake

    @Test("The client asks for a staple and judges it, under TLS 1.2 and TLS 1.3", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func handshake(version: Int32) throws {
        let cases: [([UInt8]?, TrustRefusal.Reason?)] = [
            (try TestPKI.ocspResponse(for: leaf), nil), (try TestPKI.ocspResponse(for: leaf, status: .revoked), .revoked),
            (nil, .revocationUnknown), ([1, 2, 3], .revocationUnknown),
        ]
        for (staple, reason) in cases {
            let rule = TrustRule(evaluators: [RevocationTrustEvaluator(sources: .withoutNetwork)])
            let hook = try HandshakePair.Hook(host: "api.test", rule: rule, anchors: TrustAnchors(root))
            let pair = try HandshakePair(server: leaf.chain(), hook: hook)
            COpenSSLTest.setMaximumVersion(pair.server, version)
            if let staple { pair.staple(staple) }
            #expect(try pair.connect().isConnected == (reason == nil))
            let refusal = hook.results.first?.refusal ?? hook.statusResults.first?.refusal
            #expect(refusal?.reason == reason)
            // Under TLS 1.2 the response arrives after the certificates, so its judgement comes later.
            #expect(hook.statusResults.isEmpty == (version == TLS1_3_VERSION))
        }
    }

    @Test("The client asks for no staple if no evaluator would judge it")
    func notAsked() throws {
        let hook = try HandshakePair.Hook(host: "api.test", rule: .pathValidation, anchors: TrustAnchors(root))
        let pair = try HandshakePair(server: leaf.chain(), hook: hook)
        pair.staple(try TestPKI.ocspResponse(for: leaf, status: .revoked))
        #expect(try pair.connect().isConnected)
        #expect(try hook.results.first?.get().stapledResponse == nil)
    }
}
