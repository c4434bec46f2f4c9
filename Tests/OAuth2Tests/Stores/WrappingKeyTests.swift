import ApproovBase
import ApproovTesting
import Foundation
import TestTags
import Testing

@testable import OAuth2

@Suite struct WrappingKeyTests {
    private static let python = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    /// Opens a token's file with OpenSSL's scrypt and the primitives of the package cryptography, and prints the record.
    private static let opening = """
        import hashlib, pathlib, sys
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        file, salt, passphrase, token_key = sys.argv[1:]
        file = pathlib.Path(file).read_bytes()
        master = hashlib.scrypt(
            passphrase.encode(), salt=pathlib.Path(salt).read_bytes(), n=2**17, r=8, p=1, maxmem=2**28, dklen=32)
        key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"approov OAuth2 token file").derive(master)
        record = ChaCha20Poly1305(key).decrypt(file[12:24], file[24:], file[:12] + token_key.encode())
        sys.stdout.buffer.write(record)
        """

    private static func canOpen() async -> Bool {
        let run = try? await ChildProcess.run(
            URL(filePath: "/usr/bin/env"), [python, "-c", "import cryptography, hashlib; hashlib.scrypt"])
        return run?.exitCode == 0
    }

    private func thrown(_ key: WrappingKey, in folder: TemporaryFolder) -> OAuth2Error.Code? {
        code(as: OAuth2Error.self) { try key.bytes(folder: folder.path) }
    }

    @Test("A key file is made once, private, and in another folder than the tokens")
    func file() throws {
        let folder = try TemporaryFolder()
        let key = WrappingKey.file(folder.file("keys/k"))
        let bytes = try key.bytes(folder: folder.path)
        #expect(try bytes.count == 32 && key.bytes(folder: folder.path) == bytes)
        #expect(FileStatus(folder.path("keys/k"))?.permissions == 0o600)
        #expect(thrown(.file(folder.file("k")), in: folder) == .configurationError)
        for content in [[], [UInt8](repeating: 1, count: 31), [UInt8](repeating: 1, count: 33)] {
            try PrivateFile(path: folder.path("keys/k")).write(content)
            #expect(thrown(key, in: folder) == .storeFailed)
        }
        try PrivateFile(path: folder.path("keys/k")).write(bytes)
        chmod(folder.path("keys/k"), 0o640)
        #expect(thrown(key, in: folder) == .storeFailed)
    }

    @Test("A systemd credential is read from its folder, and only by a plain name")
    func credential() throws {
        let folder = try TemporaryFolder()
        let environment = ["CREDENTIALS_DIRECTORY": folder.path]
        try folder.write([UInt8](repeating: 7, count: 16), to: "wrap")
        chmod(folder.path("wrap"), 0o440)
        let key = WrappingKey.systemdCredential("wrap", environment: environment)
        #expect(try key.bytes(folder: folder.path).count == 32)
        try folder.write([UInt8](repeating: 7, count: 15), to: "short")
        chmod(folder.path("short"), 0o400)
        for name in ["", ".", "..", "../wrap", "missing", "short"] {
            #expect(thrown(.systemdCredential(name, environment: environment), in: folder) == .configurationError, "\(name)")
        }
        chmod(folder.path("wrap"), 0o444)
        #expect(thrown(key, in: folder) == .configurationError)
        #expect(thrown(.systemdCredential("wrap", environment: [:]), in: folder) == .configurationError)
    }

    @Test("A passphrase gives the same key with the same salt, and another one with another passphrase or salt")
    func passphrase() throws {
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        let key = try WrappingKey.passphrase("correct horse").bytes(folder: folder.path)
        #expect(try WrappingKey.passphrase("correct horse").bytes(folder: folder.path) == key)
        #expect(try WrappingKey.passphrase("correct horsf").bytes(folder: folder.path) != key)
        #expect(try WrappingKey.passphrase("correct horse").bytes(folder: other.path) != key)
        #expect(thrown(.passphrase(""), in: folder) == .configurationError)
    }

    @Test("The key of a passphrase is the one that another implementation of scrypt derives with 131,072 rounds, 8 and 1")
    func knownKey() throws {
        let folder = try TemporaryFolder()
        try PrivateFile(path: folder.path("wrapping.salt")).write(Array(0..<16))
        let key = try WrappingKey.passphrase("correct horse").bytes(folder: folder.path)
        // hashlib.scrypt(b"correct horse", salt=bytes(range(16)), n=2**17, r=8, p=1, maxmem=2**28, dklen=32) of Python 3.
        #expect(Base64.encode(key) == "TGvJUUU1CgfkAA5rR1GVoLnHJ8JaBRe7wqx27cEOQmw=")
    }

    @Test(
        "Python opens the file of a token with the passphrase and the salt beside it",
        .tags(.processes), .enabled("pip install cryptography, or set APPROOV_PYTHON") { await Self.canOpen() })
    func otherImplementation() async throws {
        let folder = try TemporaryFolder()
        let store = FileTokenStore(directory: folder.file("tokens"), key: .passphrase("correct hörse"))
        let (key, token) = (try Samples.key("alice"), try Samples.token("ACCESS", refresh: "REFRESH"))
        try await store.store(token, for: key)
        func record(_ passphrase: String) async throws -> ChildProcess.Run {
            try await ChildProcess.run(
                URL(filePath: "/usr/bin/env"),
                [Self.python, "-c", Self.opening, store.path(key), folder.path("tokens/wrapping.salt"), passphrase, key.text])
        }
        let run = try await record("correct hörse")
        try #require(run.exitCode == 0, "\(run.errors)")
        #expect(TokenRecord.token(in: Array(run.data)) == token)
        let wrong = try await record("correct horse")
        #expect(wrong.exitCode == 1 && wrong.errors.contains("InvalidTag") && wrong.data.isEmpty)
    }

    @Test("A key of the app's own source must have 32 bytes")
    func own() throws {
        let folder = try TemporaryFolder()
        #expect(try WrappingKey { [UInt8](repeating: 1, count: 32) }.bytes(folder: folder.path).count == 32)
        #expect(thrown(WrappingKey { [1] }, in: folder) == .configurationError)
    }

    @Test(
        "A key in the kernel's keyring is made once",
        .enabled("the kernel's keyring cannot be used here") { KeyringTokenStoreTests.isPossible })
    func keyring() throws {
        let folder = try TemporaryFolder()
        let name = "approov:test:\(UUID().uuidString)"
        defer { try? KernelKeyring.remove(name) }
        let key = try WrappingKey.keyring(name).bytes(folder: folder.path)
        #expect(try key.count == 32 && WrappingKey.keyring(name).bytes(folder: folder.path) == key)
    }

    @Test("The first use of a key in the kernel's keyring holds a private lock in the folder of the tokens, which it makes")
    func keyringLock() throws {
        let folder = try TemporaryFolder()
        let name = "approov:test:\(UUID().uuidString)"
        defer { try? KernelKeyring.remove(name) }
        // The lock comes first, so its file is there also where the keyring cannot be used.
        _ = try? WrappingKey.keyring(name).bytes(folder: folder.path("tokens"))
        #expect(FileStatus(folder.path("tokens"))?.permissions == 0o700)
        #expect(FileStatus(folder.path("tokens/wrapping.lock"))?.permissions == 0o600)
        try? KernelKeyring.remove(name)
        unlink(folder.path("tokens/wrapping.lock"))
        symlink("nowhere", folder.path("tokens/wrapping.lock"))
        #expect(code(as: OAuth2Error.self) { try WrappingKey.keyring(name).bytes(folder: folder.path("tokens")) } == .storeFailed)
    }

    @Test(
        "Many first uses at once of a key in the kernel's keyring give one key",
        .enabled("the kernel's keyring cannot be used here") { KeyringTokenStoreTests.isPossible })
    func keyringAtOnce() async throws {
        for round in 0..<50 {
            let folder = try TemporaryFolder()
            let name = "approov:test:\(UUID().uuidString)"
            defer { try? KernelKeyring.remove(name) }
            let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<4 { group.addTask { try WrappingKey.keyring(name).bytes(folder: folder.path("tokens")) } }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(keys.count == 1, "round \(round)")
        }
    }
}
