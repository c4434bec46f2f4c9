import ApproovTesting
import CertificatePinning
import Foundation
import Testing

@Suite("ClientIdentity")
struct ClientIdentityTests {
    private let certificate: TestCertificate
    private let own: Certificate

    init() throws {
        certificate = try TestPKI.leaf(hosts: ["client.test"], issuer: TestPKI.root())
        own = try Certificate(certificate)
    }

    private var pem: [UInt8] { Array(certificate.privateKeyPEM.utf8) }

    @Test("A private key comes as PEM or DER, from bytes, a file or a callback")
    func forms() throws {
        let forms = [
            pem, try KeyForms.pkcs8PEM(certificate.key), try KeyForms.pkcs8DER(certificate.key),
            try KeyForms.privateKeyDER(certificate.key),
        ]
        for form in forms {
            #expect(try ClientIdentity(certificates: [own], privateKey: .bytes(form)).certificates.count == 1)
            _ = try ClientIdentity(certificates: [own], privateKey: .callback { form })
        }
        let folder = try TemporaryFolder()
        try folder.write(certificate.chainPEM, to: "client.pem")
        try folder.write(certificate.privateKeyPEM, to: "client.key")
        _ = try ClientIdentity(certificateFile: folder.path("client.pem"), privateKeyFile: folder.path("client.key"))
        expectPinningError(.unreadableFile) {
            try ClientIdentity(certificateFile: folder.path("client.pem"), privateKeyFile: folder.path("missing.key"))
        }
    }

    @Test("Keys of every type that TLS supports are accepted", arguments: [TestKeyType.rsa2048, .p256, .p384, .p521, .ed25519])
    func kinds(type: TestKeyType) throws {
        _ = try ClientIdentity(TestPKI.leaf(hosts: ["client.test"], issuer: nil, key: TestKey(type)))
    }

    @Test("An encrypted key opens only with its password; without a password there is an error and no prompt")
    func encrypted() throws {
        for form in try KeyForms.encrypted(certificate.key) {
            _ = try ClientIdentity(certificates: [own], privateKey: .bytes(form)) { "secret" }
            expectPinningError(.wrongPassword) { try ClientIdentity(certificates: [own], privateKey: .bytes(form)) { "Secret" } }
            expectPinningError(.wrongPassword) { try ClientIdentity(certificates: [own], privateKey: .bytes(form)) { "" } }
            expectPinningError(.wrongPassword) {
                try ClientIdentity(certificates: [own], privateKey: .bytes(form)) { String(repeating: "secret", count: 10_000) }
            }
            expectPinningError(.encryptedKey) { try ClientIdentity(certificates: [own], privateKey: .bytes(form)) }
            expectPinningError(.encryptedKey) { try ClientIdentity(certificates: [own], privateKey: .bytes(form)) { nil } }
        }
    }

    @Test("An error thrown by a password or key callback is passed on unchanged")
    func throwing() throws {
        struct VaultIsClosed: Error {}
        let form = try #require(try KeyForms.encrypted(certificate.key).first)
        #expect(throws: VaultIsClosed.self) {
            try ClientIdentity(certificates: [own], privateKey: .bytes(form)) { throw VaultIsClosed() }
        }
        #expect(throws: VaultIsClosed.self) {
            try ClientIdentity(certificates: [own], privateKey: .callback { throw VaultIsClosed() })
        }
    }

    @Test("A key that does not belong to the first certificate is rejected when the identity is made")
    func mismatch() throws {
        let other = try TestKey()
        expectPinningError(.keyMismatch) { try ClientIdentity(certificates: [own], privateKey: .bytes(Array(other.privateKeyPEM.utf8))) }
        // The client's own certificate comes first.
        let chain = try certificate.chain(includingRoot: true).reversed().map { try Certificate($0) }
        expectPinningError(.keyMismatch) { try ClientIdentity(certificates: chain, privateKey: .bytes(pem)) }
        expectPinningError(.noCertificates) { try ClientIdentity(certificates: [], privateKey: .bytes(pem)) }
    }

    @Test("A key that is too weak for TLS is rejected when the identity is made")
    func weak() throws {
        let weak = try TestPKI.leaf(hosts: ["client.test"], issuer: nil, key: TestKey(.rsa1024))
        expectPinningError(.weakKey) { try ClientIdentity(weak) }
    }

    @Test("A malformed or truncated private key is an error")
    func malformed() throws {
        let der = try KeyForms.pkcs8DER(certificate.key)
        for bytes in [[], Array("junk".utf8), Array(certificate.pem.utf8), pem + pem, pem + Array("junk".utf8), der + [0]] {
            expectPinningError(.malformedKey) { try ClientIdentity(certificates: [own], privateKey: .bytes(bytes)) }
        }
        for count in der.indices {
            #expect(throws: PinningError.self) { try ClientIdentity(certificates: [own], privateKey: .bytes(Array(der[..<count]))) }
        }
    }

    @Test("A PKCS #12 file opens only with its password, yields the whole chain, and is rejected if truncated")
    func pkcs12() async throws {
        let folder = try TemporaryFolder()
        let pemFile = try folder.write(certificate.privateKeyPEM + "\n" + certificate.chainPEM(includingRoot: true), to: "all.pem")
        let store = folder.path("client.p12")
        try await openssl("pkcs12", "-export", "-in", pemFile, "-out", store, "-passout", "pass:secret")
        let identity = try ClientIdentity(pkcs12File: store) { "secret" }
        #expect(identity.certificates.map(\.der) == certificate.chain(includingRoot: true).map(\.der))
        expectPinningError(.wrongPassword) { try ClientIdentity(pkcs12File: store) { "Secret" } }
        expectPinningError(.wrongPassword) { try ClientIdentity(pkcs12File: store) }
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: store)))
        for count in stride(from: 0, to: bytes.count, by: 7) {
            #expect(throws: PinningError.self) { try ClientIdentity(pkcs12: Array(bytes[..<count])) { "secret" } }
        }
        expectPinningError(.malformedKey) { try ClientIdentity(pkcs12: bytes + [0]) { "secret" } }
        try await openssl("pkcs12", "-export", "-in", pemFile, "-out", store, "-passout", "pass:")
        _ = try ClientIdentity(pkcs12File: store)
        _ = try ClientIdentity(pkcs12File: store) { "" }
    }
}
