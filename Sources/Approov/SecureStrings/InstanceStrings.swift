import ApproovBase
import Attestation
import Foundation

/// The app's own secure strings, each sealed with a key that is derived from the installation's secret, in the file `secure-strings`.
///
/// The file has mode 0600 and is replaced as a whole. Several processes may share it; a lock makes writers take turns. The names are in the
/// clear. A value opens for its name only, and with this installation's key only.
struct InstanceStrings: Sendable {
    /// The name of the file.
    static let fileName = "secure-strings"
    /// The name of the lock file.
    static let lockFileName = "secure-strings.lock"
    /// The most strings.
    static let maximumCount = 64
    /// The most bytes of the file.
    private static let maximumBytes = 1 << 20
    private static let version: Int64 = 1

    private let folder: String
    private let file: PrivateFile
    private let lock: FileLock
    /// Nil if the attester has no secret.
    private let seal: ValueSeal?

    init(folder: URL, seal: ValueSeal?) {
        self.folder = folder.path(percentEncoded: false)
        file = PrivateFile(folder.appending(path: Self.fileName))
        lock = FileLock(path: folder.appending(path: Self.lockFileName).path(percentEncoded: false))
        self.seal = seal
    }

    /// The purpose of the key with which an account's strings are sealed.
    static func purpose(account: String) -> String { "secure-strings\0\(account)" }

    /// The sealed strings, as they were when the file was read.
    struct Contents: Sendable {
        fileprivate var sealed: [String: [UInt8]] = [:]
        fileprivate let seal: ValueSeal
        fileprivate let path: String

        /// Opens a string; nil if the app has not set one of this name.
        ///
        /// - Throws: ``ApproovError`` with code `secureStringError` when the value is damaged, or another installation sealed it.
        func value(for name: String) throws(ApproovError) -> String? {
            guard let bytes = sealed[name] else { return nil }
            guard let value = seal.open(bytes, for: name), SecureStringRules.isValue(value) else {
                throw ApproovError(
                    .secureStringError,
                    "\(path) has a secure string \(LoggableText.name(name)) that this installation did not seal; set it again, or remove it"
                )
            }
            return value
        }
    }

    /// Reads the file; nil if there are no strings.
    ///
    /// - Throws: ``ApproovError`` with code `secureStringError` when the file cannot be read, is not private, or is damaged.
    func read() throws(ApproovError) -> Contents? {
        guard let seal else { return nil }
        do {
            guard let bytes = try file.read(upTo: Self.maximumBytes) else { return nil }
            return Contents(sealed: try Self.parse(bytes), seal: seal, path: file.path)
        } catch let error as FileError {
            throw ApproovError(.secureStringError, "the app's secure strings cannot be read", cause: error)
        } catch {
            throw ApproovError(
                .secureStringError, "\(file.path) is damaged: remove it, and have the app set its secure strings again", cause: error)
        }
    }

    /// Seals a string, in the place of an earlier one.
    ///
    /// - Throws: ``ApproovError`` with code `secureStringError` when name or value is not allowed, there are too many strings, or the file
    ///   cannot be read or written; with code `unsupported` when the attester has no secret.
    func set(_ value: String, for name: String) throws(ApproovError) {
        guard let seal else { throw Self.noSecret }
        try Self.check(name)
        guard SecureStringRules.isValue(value) else {
            throw ApproovError(.secureStringError, "the value of the secure string \(name) must be \(SecureStringRules.valueRule)")
        }
        try change { (contents: inout Contents) throws in
            guard contents.sealed[name] != nil || contents.sealed.count < Self.maximumCount else {
                throw ApproovError(
                    .secureStringError, "the app has \(Self.maximumCount) secure strings, which is the most: remove one of them first")
            }
            contents.sealed[name] = try seal.seal(value, for: name)
            return true
        }
    }

    /// Removes a string.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``ApproovError`` as for ``set(_:for:)``.
    func remove(_ name: String) throws(ApproovError) -> Bool {
        guard seal != nil else { throw Self.noSecret }
        try Self.check(name)
        return try change { contents in contents.sealed.removeValue(forKey: name) != nil }
    }

    /// Changes the file under the lock; writes it if the body returns true.
    @discardableResult
    private func change(_ body: (inout Contents) throws -> Bool) throws(ApproovError) -> Bool {
        guard let seal else { throw Self.noSecret }
        do {
            try PrivateFile.makeFolder(path: folder)
            return try lock.withLock {
                file.removeLeftovers(unchangedFor: 0)
                var contents = try read() ?? Contents(seal: seal, path: file.path)
                guard try body(&contents) else { return false }
                try file.write(Self.serialized(contents.sealed))
                return true
            }
        } catch let error as ApproovError {
            throw error
        } catch let failure as FileLock.Failure {
            throw ApproovError(.secureStringError, failure.message)
        } catch {
            throw ApproovError(.secureStringError, "the app's secure strings cannot be stored", cause: error)
        }
    }

    private static func check(_ name: String) throws(ApproovError) {
        guard SecureStringRules.isKey(name) else { throw .badKey }
    }

    private static var noSecret: ApproovError {
        ApproovError(
            .unsupported,
            "the service's attester has no secret to seal the app's secure strings with: implement secretKey(for:), or use the default one")
    }

    private static func serialized(_ sealed: [String: [UInt8]]) -> [UInt8] {
        JSONValue.object([
            "version": .integer(version), "strings": .object(sealed.mapValues { .string(Base64URL.encode($0)) }),
        ]).serialized()
    }

    private struct Damage: Error {}

    private static func parse(_ bytes: [UInt8]) throws -> [String: [UInt8]] {
        let members = try JSONValue(reading: bytes, limit: maximumBytes).object()
        guard members["version"] == .integer(version), case .object(let strings)? = members["strings"], strings.count <= maximumCount else {
            throw Damage()
        }
        return try strings.mapValues { value in
            guard case .string(let text) = value, let bytes = Base64URL.decode(text) else { throw Damage() }
            return bytes
        }
    }
}

extension ApproovError {
    /// The key of a secure string is malformed; the message does not show it, because it may be a value in the wrong place.
    static var badKey: ApproovError {
        ApproovError(.secureStringError, "the key of a secure string must be \(SecureStringRules.keyRule)")
    }
}
