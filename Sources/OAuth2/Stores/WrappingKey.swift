internal import ApproovBase
internal import Crypto
internal import CryptoExtras
public import Foundation

/// The key that seals the files of a ``FileTokenStore``, and where it comes from.
public struct WrappingKey: Sendable {
    /// The bytes of a key.
    private static let byteCount = 32
    /// The cost of scrypt: 128 MiB and a few tenths of a second (RFC 7914, section 2).
    private static let scryptRounds = 1 << 17

    private let load: @Sendable (_ folder: String) throws -> [UInt8]

    /// Makes a key of another source.
    ///
    /// - Parameter load: Returns exactly 32 random bytes, always the same; called once for each store.
    public init(_ load: @escaping @Sendable () throws -> [UInt8]) { self.load = { _ in try load() } }

    private init(inFolder load: @escaping @Sendable (_ folder: String) throws -> [UInt8]) { self.load = load }

    /// A key in a file of mode 0600, made with random bytes when it is missing.
    ///
    /// - Parameter file: The file; in a different folder than the tokens, so that a backup of one lacks the other.
    /// - Returns: The key.
    public static func file(_ file: URL) -> WrappingKey {
        WrappingKey(inFolder: { folder in
            let path = file.path(percentEncoded: false)
            guard file.deletingLastPathComponent().standardizedFileURL.path != URL(filePath: folder).standardizedFileURL.path else {
                throw OAuth2Error(.configurationError, "\(path) is in the folder of the tokens; put the key in another folder")
            }
            return try made(path, byteCount)
        })
    }

    /// A credential that systemd hands to the service (`LoadCredentialEncrypted=`), for example sealed by the machine's TPM.
    ///
    /// - Parameters:
    ///   - name: The credential's name: at least 16 random bytes, in a file below `$CREDENTIALS_DIRECTORY`.
    ///   - environment: The environment; by default the process's.
    /// - Returns: The key.
    public static func systemdCredential(
        _ name: String, environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> WrappingKey {
        WrappingKey(inFolder: { _ in
            guard let folder = environment["CREDENTIALS_DIRECTORY"] else {
                throw OAuth2Error(
                    .configurationError, "systemd hands no credentials to this process; add LoadCredentialEncrypted= to its unit")
            }
            guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
                throw OAuth2Error(
                    .configurationError, "the name of a systemd credential must be a file name without a slash; correct it")
            }
            return derived(try credential("\(folder)/\(name)"))
        })
    }

    /// A key from a passphrase, with scrypt (RFC 7914) and a random salt that is kept beside the tokens.
    ///
    /// - Parameter text: The passphrase.
    /// - Returns: The key.
    public static func passphrase(_ text: String) -> WrappingKey {
        WrappingKey(inFolder: { folder in
            guard !text.isEmpty else { throw OAuth2Error(.configurationError, "the passphrase is empty") }
            let salt = try made("\(folder)/wrapping.salt", 16)
            do {
                let key = try KDF.Scrypt.deriveKey(
                    from: Array(text.utf8), salt: salt, outputByteCount: byteCount, rounds: scryptRounds, blockSize: 8, parallelism: 1)
                return key.withUnsafeBytes { Array($0) }
            } catch {
                throw OAuth2Error(.storeFailed, "scrypt cannot derive the key; it needs 128 MiB of memory", cause: error)
            }
        })
    }

    /// A random key in the kernel's keyring of the user, which is gone after a restart of the machine.
    ///
    /// Reading a token stored before the restart throws ``OAuth2Error`` with code `wrongKey`.
    /// - Parameter description: The name of the key in the keyring. Use a different name for each folder of tokens: if two folders make the same
    ///   key at the same time, the tokens of one of them are lost.
    /// - Returns: The key.
    public static func keyring(_ description: String = "approov:oauth2:wrapping-key") -> WrappingKey {
        WrappingKey(inFolder: { folder in
            if let key = try KernelKeyring.read(description, limit: byteCount) { return key }
            // Adding a key replaces an earlier one: of two first uses at once, the second would replace the first one's key.
            return try alone(in: folder) {
                if let key = try KernelKeyring.read(description, limit: byteCount) { return key }
                try KernelKeyring.write(SystemRandom.bytes(byteCount), named: description)
                guard let key = try KernelKeyring.read(description, limit: byteCount) else {
                    throw OAuth2Error(.storeFailed, "the kernel's keyring lost a key that was just added; use another kind of key")
                }
                return key
            }
        })
    }

    /// The 32 bytes of the key.
    ///
    /// - Parameter folder: The folder of the tokens.
    /// - Returns: The bytes.
    /// - Throws: ``OAuth2Error`` with code `configurationError`, `storeFailed` or `storeBusy`.
    func bytes(folder: String) throws -> [UInt8] {
        let key = try load(folder)
        guard key.count == Self.byteCount else {
            throw OAuth2Error(.configurationError, "the key that seals tokens must have \(Self.byteCount) bytes, not \(key.count)")
        }
        return key
    }

    /// Runs `body` while no other process or thread does for the same folder, which is made when it is missing.
    private static func alone(in folder: String, _ body: () throws -> [UInt8]) throws -> [UInt8] {
        do {
            try PrivateFile.makeFolder(path: folder)
            return try FileLock(path: "\(folder)/wrapping.lock").withLock(body)
        } catch let error as FileError {
            throw OAuth2Error(.storeFailed, "the folder of the tokens cannot be made", cause: error)
        } catch let error as FileLock.Failure {
            throw TokenLocks.error(for: error)
        }
    }

    /// Reads random bytes from a private file, which is made when it is missing.
    private static func made(_ path: String, _ count: Int) throws -> [UInt8] {
        let file = PrivateFile(path: path)
        do {
            try PrivateFile.makeFolder(path: String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
            if try file.read(upTo: count) == nil { _ = try file.create(SystemRandom.bytes(count)) }
            // Of two processes that make it at once, both read the file of the one that was first.
            guard let bytes = try file.read(upTo: count), bytes.count == count else {
                throw OAuth2Error(
                    .storeFailed, "\(path) does not have \(count) bytes; restore it, or remove it and let the user log in again")
            }
            // A process that was killed may have left another name of the key.
            file.removeLeftovers(unchangedFor: 60)
            return bytes
        } catch let error as FileError {
            throw OAuth2Error(.storeFailed, "\(path) cannot be used as a key", cause: error)
        }
    }

    /// Reads a file that systemd made: it may belong to root, and its access list may show as rights of the group.
    private static func credential(_ path: String) throws -> [UInt8] {
        guard let file = ReadableFile(path, followsLink: false), let status = file.status, status.isRegular else {
            throw OAuth2Error(.configurationError, "there is no credential \(path); add LoadCredentialEncrypted= to the unit")
        }
        guard status.owner == geteuid() || status.owner == 0, status.permissions & 0o007 == 0 else {
            throw OAuth2Error(.configurationError, "the credential \(path) is open to other users; let systemd make it")
        }
        var buffer = [UInt8](repeating: 0, count: 4_097)
        let count = buffer.withUnsafeMutableBytes { file.read(into: $0) } ?? 0
        guard (16...4_096).contains(count) else {
            throw OAuth2Error(.configurationError, "the credential \(path) must have 16 to 4096 random bytes")
        }
        return Array(buffer[..<count])
    }

    private static func derived(_ secret: [UInt8]) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Array("approov OAuth2 credential".utf8), outputByteCount: byteCount
        ).withUnsafeBytes { Array($0) }
    }
}
