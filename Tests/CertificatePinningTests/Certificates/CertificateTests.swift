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

    @Test("DER and PEM of a certificate are one certificate")
    func forms() throws {
        let certificate = try Certificate(der: leaf.der)
        #expect(certificate.der == leaf.der)
        #expect(try Certificate(pem: "some text before\n" + leaf.pem + " \n\n").der == leaf.der)
        #expect(certificate.subject == "CN=the leaf")
        #expect(certificate.issuer == "CN=Root of the test")
        #expect(abs(certificate.notBefore.timeIntervalSince(leaf.notBefore)) < 1)
        #expect(abs(certificate.notAfter.timeIntervalSince(leaf.notAfter)) < 1)
    }

    @Test("the pin of a certificate is the hash of its key, whatever its type", arguments: TestKeyType.allCases)
    func pin(type: TestKeyType) throws {
        let key = try TestKey(type)
        let certificate = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, key: key)
        #expect(try Certificate(certificate).pin == Pin(key))
        #expect(try Certificate(certificate).pin == Pin(spki: key.spki))
    }

    @Test("a renewed certificate with its key has the same pin, one of the same subject with another key has not")
    func renewal() throws {
        let renewed = try TestPKI.leaf(hosts: ["api.test"], issuer: root, commonName: "the leaf", key: leaf.key)
        let other = try TestPKI.leaf(hosts: ["api.test"], issuer: root, commonName: "the leaf")
        #expect(renewed.der != leaf.der)
        #expect(try Certificate(renewed).pin == Certificate(leaf).pin)
        #expect(try Certificate(other).pin != Certificate(leaf).pin)
    }

    @Test("a certificate truncated anywhere is refused")
    func truncated() {
        for count in leaf.der.indices {
            expectPinningError(.malformedCertificate) { try Certificate(der: Array(leaf.der[..<count])) }
        }
    }

    @Test("bytes after a certificate are refused")
    func trailing() {
        expectPinningError(.malformedCertificate) { try Certificate(der: leaf.der + [0]) }
        expectPinningError(.malformedCertificate) { try Certificate(der: leaf.der + root.der) }
    }

    @Test("no flipped byte crashes, and what still parses is another certificate")
    func flipped() throws {
        for index in leaf.der.indices {
            var der = leaf.der
            der[index] ^= 0xFF
            guard let certificate = try? Certificate(der: der) else { continue }
            #expect(certificate.der != leaf.der)
            _ = (certificate.subject, certificate.issuer, certificate.notBefore, certificate.notAfter)
        }
    }

    @Test("PEM of two certificates is not one, PEM of none is an error, and all(inPEM:) keeps the order")
    func manyPEM() throws {
        expectPinningError(.malformedCertificate) { try Certificate(pem: leaf.pem + root.pem) }
        expectPinningError(.malformedCertificate) { try Certificate(pem: "") }
        expectPinningError(.malformedCertificate) { try Certificate(pem: leaf.privateKeyPEM) }
        expectPinningError(.malformedCertificate) { try Certificate.all(inPEM: "nothing here") }
        #expect(try Certificate.all(inPEM: leaf.pem + leaf.privateKeyPEM + "\n" + root.pem).map(\.der) == [leaf.der, root.der])
    }

    @Test(
        "text after the last PEM block is an error: something was cut off, or put together wrongly",
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

    @Test("control characters of a subject come out escaped, and a long one cut")
    func hostileSubject() throws {
        let hostile = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, commonName: "evil\r\n\u{1B}[31mERROR\u{202E}")
        let subject = try Certificate(hostile).subject
        #expect(subject.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
        #expect(subject.hasPrefix("CN=evil\\0D\\0A\\1B"))
        let long = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, commonName: String(repeating: "x", count: 10_000))
        #expect(try Certificate(long).subject.count <= 259)
    }

    @Test("a certificate is used by many threads at once")
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
