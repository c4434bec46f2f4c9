import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Testing

@Suite("PublicKeyFile")
struct PublicKeyFileTests {
    @Test("Every encoding of a key yields the same pin, for every key type", arguments: TestKeyType.allCases)
    func everyEncoding(type: TestKeyType) throws {
        let key = try TestKey(type)
        let certificate = try TestPKI.leaf(hosts: ["api.test"], issuer: nil, key: key)
        let pin = try Pin(key)
        let encodings = try [
            [UInt8](certificate.pem.utf8), certificate.der, [UInt8](key.publicKeyPEM.utf8), key.spki, [UInt8](key.privateKeyPEM.utf8),
            KeyForms.privateKeyDER(key), KeyForms.pkcs8PEM(key), KeyForms.pkcs8DER(key), KeyForms.requestPEM(key), KeyForms.requestDER(key),
        ]
        for (index, bytes) in encodings.enumerated() {
            #expect(try PublicKeyFile.pins(in: bytes) == [pin], "encoding \(index)")
        }
    }

    @Test(
        "The pin equals the output of `openssl pkey -pubin -outform der | sha256`",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")), arguments: TestKeyType.allCases)
    func agreesWithCommand(type: TestKeyType) async throws {
        let key = try TestKey(type)
        let folder = try TemporaryFolder()
        let file = try folder.write(key.publicKeyPEM, to: "key.pem")
        let der = try await openssl("pkey", "-pubin", "-in", file, "-outform", "der")
        #expect(try PublicKeyFile.pins(inFile: file) == [Pin(spki: [UInt8](der))])
    }

    @Test("An RSA key in PKCS #1 yields the pin of its SubjectPublicKeyInfo")
    func pkcs1() throws {
        let key = try TestKey(.rsa2048)
        #expect(try PublicKeyFile.pins(in: KeyForms.pkcs1PublicDER(key)) == [Pin(key)])
        let pem =
            "-----BEGIN RSA PUBLIC KEY-----\n"
            + Data(try KeyForms.pkcs1PublicDER(key)).base64EncodedString(options: .lineLength64Characters)
            + "\n-----END RSA PUBLIC KEY-----\n"
        #expect(try PublicKeyFile.pins(in: [UInt8](pem.utf8)) == [Pin(key)])
    }

    @Test("A file with several keys yields each pin once, in the order of the file")
    func several() throws {
        let root = try TestPKI.root()
        let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
        let text = "# my server\n" + leaf.privateKeyPEM + "\n" + leaf.pem + root.pem + leaf.pem
        #expect(try PublicKeyFile.pins(in: [UInt8](text.utf8)) == [Pin(leaf.key), Pin(root.key)])
    }

    @Test("The error for a file that is malformed or encrypted names it and keeps its code")
    func named() throws {
        let folder = try TemporaryFolder()
        let garbage = try folder.write("garbage", to: "garbage.pem")
        let error = #expect(throws: PinningError.self) { try PublicKeyFile.pins(inFile: garbage) }
        #expect(error?.code == .malformedKey && error?.message.hasPrefix("\"\(garbage)\": ") == true)
        let locked = try folder.write(try #require(KeyForms.encrypted(TestKey(.rsa2048)).first), to: "locked.key")
        let encrypted = #expect(throws: PinningError.self) { try PublicKeyFile.pins(inFile: locked) }
        #expect(encrypted?.code == .encryptedKey && encrypted?.message.contains(locked) == true)
    }

    @Test("An encrypted private key is an error that says what to do, without a prompt for the passphrase")
    func encrypted() throws {
        for bytes in try KeyForms.encrypted(TestKey(.rsa2048)) {
            let error = #expect(throws: PinningError.self) { try PublicKeyFile.pins(in: bytes) }
            #expect(error?.code == .encryptedKey)
            #expect(error?.message.contains("-pubout") == true)
        }
    }

    @Test(
        "Text without a valid key is an error",
        arguments: [
            "", "hello", "-----BEGIN", "-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "-----BEGIN PUBLIC KEY-----\n????\n-----END PUBLIC KEY-----\n", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n",
            "-----BEGIN CMS-----\nAAAA\n-----END CMS-----\n",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "-----BEGIN NONSENSE PRIVATE KEY-----\nAAAA\n-----END NONSENSE PRIVATE KEY-----\n",
        ])
    func malformed(text: String) {
        let error = #expect(throws: PinningError.self) { try PublicKeyFile.pins(in: [UInt8](text.utf8)) }
        #expect(error.map { [.malformedKey, .malformedCertificate].contains($0.code) } == true)
    }

    @Test("Truncated DER and DER with an extra byte are errors")
    func truncated() throws {
        let key = try TestKey()
        for der in try [key.spki, KeyForms.pkcs8DER(key), KeyForms.requestDER(key)] {
            for count in der.indices { #expect(throws: PinningError.self) { try PublicKeyFile.pins(in: Array(der[..<count])) } }
            #expect(throws: PinningError.self) { try PublicKeyFile.pins(in: der + [0]) }
        }
    }

    @Test("A key of an unknown algorithm is an error, because no server could present it")
    func unknownAlgorithm() {
        // SEQUENCE { SEQUENCE { OID 1.3.6.1.4.1.32473.1 }, BIT STRING 00 01 }
        let der: [UInt8] = [0x30, 0x12, 0x30, 0x0C, 0x06, 0x0A, 0x2B, 6, 1, 4, 1, 0x81, 0xFD, 0x59, 1, 1, 0x03, 0x02, 0x00, 0x01]
        expectPinningError(.malformedKey) { try PublicKeyFile.pins(in: der) }
    }

    @Test("A folder, a FIFO, a device, a huge file and a missing file are errors at once")
    func files() throws {
        let folder = try TemporaryFolder()
        let fifo = folder.path("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        let large = try folder.write("", to: "large")
        #expect(truncate(large, 1 << 40) == 0)
        for path in [folder.path, fifo, large, folder.path("missing"), "/dev/zero", "/dev/null", "/dev/tty", ""] {
            expectPinningError(.unreadableFile) { try PublicKeyFile.pins(inFile: path) }
        }
    }

    @Test("A file of exactly the maximum size is read, and one that is a byte longer is not")
    func size() throws {
        let pem = try TestKey().publicKeyPEM
        let folder = try TemporaryFolder()
        for (size, isRead) in [(PublicKeyFile.maximumSize, true), (PublicKeyFile.maximumSize + 1, false)] {
            var bytes = [UInt8](pem.utf8) + [UInt8](repeating: UInt8(ascii: "\n"), count: size)
            bytes.removeLast(bytes.count - size)
            let file = try folder.write(bytes, to: "key.pem")
            #expect(((try? PublicKeyFile.pins(inFile: file)) != nil) == isRead)
        }
    }
}
