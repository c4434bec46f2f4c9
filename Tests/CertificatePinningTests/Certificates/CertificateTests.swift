import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("Certificate")
struct CertificateTests {
    private let root: TestCertificate
    private let leaf: TestCertificate

    init() throws {
        root = try TestPKI.root("Root of the test")
        leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root, commonName: "the leaf")
    }

    @Test("A certificate is the same whether it is read from DER or from PEM")
    func forms() throws {
        let certificate = try Certificate(der: leaf.der)
        #expect(certificate.der == leaf.der)
        #expect(try Certificate(pem: "some text before\n" + leaf.pem + " \n\n").der == leaf.der)
        #expect(certificate.subject == "CN=the leaf")
        #expect(certificate.issuer == "CN=Root of the test")
        #expect(abs(certificate.notBefore.timeIntervalSince(leaf.notBefore)) < 1)
        #expect(abs(certificate.notAfter.timeIntervalSince(leaf.notAfter)) < 1)
    }

    @Test("The pin of a certificate is the hash of its key, for every key type", arguments: TestKeyType.allCases)
    func pin(type: TestKeyType) throws {
        let key = try TestKey(type)
        let certificate = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, key: key)
        #expect(try Certificate(certificate).pin == Pin(key))
        #expect(try Certificate(certificate).pin == Pin(spki: key.spki))
    }

    @Test("A renewed certificate with the same key has the same pin; one with another key does not")
    func renewal() throws {
        let renewed = try TestPKI.leaf(hosts: ["api.test"], issuer: root, commonName: "the leaf", key: leaf.key)
        let other = try TestPKI.leaf(hosts: ["api.test"], issuer: root, commonName: "the leaf")
        #expect(renewed.der != leaf.der)
        #expect(try Certificate(renewed).pin == Certificate(leaf).pin)
        #expect(try Certificate(other).pin != Certificate(leaf).pin)
    }

    @Test("A certificate truncated anywhere is rejected")
    func truncated() {
        for count in leaf.der.indices {
            expectPinningError(.malformedCertificate) { try Certificate(der: Array(leaf.der[..<count])) }
        }
    }

    @Test("A certificate followed by other bytes is rejected")
    func trailing() {
        expectPinningError(.malformedCertificate) { try Certificate(der: leaf.der + [0]) }
        expectPinningError(.malformedCertificate) { try Certificate(der: leaf.der + root.der) }
    }

    @Test("No flipped byte crashes the parser, and a certificate that still parses is a different one")
    func flipped() throws {
        for index in leaf.der.indices {
            var der = leaf.der
            der[index] ^= 0xFF
            guard let certificate = try? Certificate(der: der) else { continue }
            #expect(certificate.der != leaf.der)
            _ = (certificate.subject, certificate.issuer, certificate.notBefore, certificate.notAfter)
        }
    }

    @Test("A single certificate cannot be read from PEM with two or none; all(inPEM:) keeps the order")
    func manyPEM() throws {
        expectPinningError(.malformedCertificate) { try Certificate(pem: leaf.pem + root.pem) }
        expectPinningError(.malformedCertificate) { try Certificate(pem: "") }
        expectPinningError(.malformedCertificate) { try Certificate(pem: leaf.privateKeyPEM) }
        expectPinningError(.malformedCertificate) { try Certificate.all(inPEM: "nothing here") }
        #expect(try Certificate.all(inPEM: leaf.pem + leaf.privateKeyPEM + "\n" + root.pem).map(\.der) == [leaf.der, root.der])
    }

    @Test(
        "Text after the last PEM block is an error, because something was cut off or joined wrongly",
        arguments: ["x", "-----BEGIN", "\u{0}"])
    func trailingText(text: String) {
        expectPinningError(.malformedCertificate) { try Certificate(pem: leaf.pem + text) }
        expectPinningError(.malformedCertificate) { try Certificate.all(inPEM: leaf.pem + "\n" + text + "\n") }
        expectPinningError(.malformedCertificate) { try TrustAnchors(pem: root.pem + text) }
        expectPinningError(.malformedCertificate) { try Certificate.all(in: Array((root.pem + text).utf8)) }
    }

    @Test("PEM that ends in the middle of a certificate is an error, not a shorter list")
    func truncatedPEM() {
        let text = leaf.pem + root.pem
        for dropped in [10, 30, 60, 200] {
            expectPinningError(.malformedCertificate) { try Certificate.all(inPEM: String(text.dropLast(dropped))) }
        }
    }

    @Test("Control characters in a subject are escaped, and a long subject is cut")
    func hostileSubject() throws {
        let hostile = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, commonName: "evil\r\n\u{1B}[31mERROR\u{202E}")
        let subject = try Certificate(hostile).subject
        #expect(subject.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
        #expect(subject.hasPrefix("CN=evil\\0D\\0A\\1B"))
        let long = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, commonName: String(repeating: "x", count: 10_000))
        #expect(try Certificate(long).subject.count <= 259)
    }

    @Test("Many tasks can use one certificate at the same time")
    func concurrent() async throws {
        let certificate = try Certificate(leaf)
        await withTaskGroup(of: String.self) { group in
            for _ in 0..<500 { group.addTask { certificate.subject + certificate.pin.description + "\(certificate.notAfter)" } }
            var seen: Set<String> = []
            for await text in group { seen.insert(text) }
            #expect(seen.count == 1)
        }
    }
}
