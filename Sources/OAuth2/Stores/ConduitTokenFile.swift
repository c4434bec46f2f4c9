internal import ApproovBase
internal import Crypto
internal import CryptoExtras
public import Foundation

/// A token file of Conduit's `OAuth2TokenFileStore`, encrypted with its AES-256-CBC cipher, to be moved into a store of this module.
///
/// That format has no authentication: a program that can write the file can choose the token. Move each file once, and do not keep it.
public struct ConduitTokenFile: Sendable, CustomStringConvertible, CustomReflectable {
    private static let maximumBytes = 64 * 1_024
    private static let rounds = 45_000

    private let file: URL
    private let passphrase: String
    private let salt: String

    /// Names a file and the secrets of Conduit's cipher.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - passphrase: The passphrase of `OAuth2TokenAES256CBCCipher`.
    ///   - salt: Its salt.
    public init(_ file: URL, passphrase: String, salt: String) {
        self.file = file
        self.passphrase = passphrase
        self.salt = salt
    }

    /// Decrypts the token; the file stays.
    ///
    /// A file that is not encrypted is refused, although Conduit would read it.
    /// - Returns: The token; nil if there is no file.
    /// - Throws: ``OAuth2Error`` with code `storeFailed` when the file is unsafe, and with code `tokenDamaged` when it does not decrypt to a
    ///   token.
    public func token() throws -> BearerToken? { try token(isRenewable: false) }

    /// Decrypts the token, which may be renewable without a refresh token.
    private func token(isRenewable: Bool) throws -> BearerToken? {
        let content: [UInt8]?
        do {
            content = try PrivateFile(file).read(upTo: Self.maximumBytes)
        } catch {
            throw OAuth2Error(.storeFailed, "Conduit's token file cannot be read", cause: error)
        }
        guard let content else { return nil }
        guard let plain = try? decrypted(content), let token = Self.token(in: plain, isRenewable: isRenewable) else {
            throw OAuth2Error(
                .tokenDamaged,
                "\(file.path(percentEncoded: false)) does not decrypt to a token; check passphrase and salt, or let the user log in again")
        }
        return token
    }

    /// Copies the token into a store, reads it back, and removes the file.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - key: What the token belongs to. A token already in the store stays.
    /// - Returns: Whether a token was copied.
    /// - Throws: ``OAuth2Error`` of ``token()`` or of the store; the file is then still there.
    @discardableResult
    public func move(to store: some TokenStore, for key: TokenKey) async throws -> Bool {
        // Without a file, the store gets no folder and no lock files.
        guard try token() != nil else { return false }
        let path = file.path(percentEncoded: false)
        return try await store.withExclusiveAccess(for: key) {
            // While this process waited, another one may have moved the token, and its user may have logged out.
            guard let token = try self.token(isRenewable: key.authorization.level == .client) else { return false }
            let isNew = try await store.storeIfAbsent(token, for: key)
            guard token.isSafe(with: try await store.token(for: key), isStored: isNew) else {
                throw OAuth2Error(.storeFailed, "the store does not return the token that it took; Conduit's file is still there")
            }
            do {
                try PrivateFile(file).remove()
            } catch {
                // The file may be gone although its folder could not be synced.
                guard FileStatus(path, followsLink: false) == nil else {
                    throw OAuth2Error(.storeFailed, "\(path) was copied but cannot be removed; remove it", cause: error)
                }
            }
            return isNew
        }
    }

    /// Always the same: neither the passphrase nor the salt is shown.
    public var description: String { "ConduitTokenFile" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection()) }

    private func decrypted(_ content: [UInt8]) throws -> [UInt8] {
        guard content.count >= 32, content.count % 16 == 0 else { throw CryptoKitError.incorrectParameterSize }
        let key = try KDF.Insecure.PBKDF2.deriveKey(
            from: Array(passphrase.utf8), salt: Array(salt.utf8), using: .insecureSHA1, outputByteCount: 32,
            unsafeUncheckedRounds: Self.rounds)
        return Array(try AES._CBC.decrypt(content.dropFirst(16), using: key, iv: AES._CBC.IV(ivBytes: content.prefix(16))))
    }

    /// Reads what `JSONEncoder` wrote: the expiry counts from 2001.
    ///
    /// - Parameters:
    ///   - plain: The file's content.
    ///   - isRenewable: Whether a new token comes without a refresh token.
    /// - Returns: The token; nil if there is none.
    private static func token(in plain: [UInt8], isRenewable: Bool) -> BearerToken? {
        guard case .object(let members)? = try? JSONValue(parsing: plain, limit: maximumBytes),
            case .string(let access)? = members["accessToken"]
        else { return nil }
        let expiry: TimeInterval
        switch members["expiration"] {
        case .integer(let seconds)?: expiry = TimeInterval(seconds)
        case .real(let seconds)? where seconds.isFinite: expiry = seconds
        default: return nil
        }
        var refresh: String?
        if case .string(let text)? = members["refreshToken"] { refresh = text }
        // Conduit writes the distant future for tokens without expires_in. Such a token is renewed at once. One that cannot be renewed gets
        // the longest life, because its user would have to log in again.
        let (date, latest) = (Date(timeIntervalSinceReferenceDate: expiry), Date() + BearerToken.longestLifetime)
        let unbounded = refresh == nil && !isRenewable ? latest : .distantPast
        return try? BearerToken(accessToken: access, refreshToken: refresh, expiresAt: date < latest ? date : unbounded)
    }
}
