import ApproovBase
import Crypto
import Foundation

/// Keeps the installation key in a file, and the device ID in another one beside it.
enum InstallationKey {
    static let keyFile = "installation-key"
    static let deviceIDFile = "device-id"
    private static let maximumBytes = 4 * 1024

    /// Reads the key, or makes one; processes that start at the same time all get the same key.
    static func load(in folder: URL) throws -> P256.Signing.PrivateKey {
        try PrivateFile.makeFolder(path: folder.path(percentEncoded: false))
        let file = PrivateFile(folder.appending(path: keyFile))
        // Remove private keys that killed starts left in temporary files. A start that is still running takes less than a minute.
        file.removeLeftovers(unchangedFor: 60)
        var stored = try read(file)
        if stored == nil { stored = try make(file) }
        guard let key = stored else {
            throw AttestationError(.fileMissing, "another process removed \(file.path) while this one read it; start the app again")
        }
        try keepDeviceID(DeviceID(installationKey: key.publicKey), in: PrivateFile(folder.appending(path: deviceIDFile)))
        return key
    }

    private static func read(_ file: PrivateFile) throws -> P256.Signing.PrivateKey? {
        guard let bytes = try file.read(upTo: maximumBytes) else { return nil }
        do {
            return try P256.Signing.PrivateKey(pemRepresentation: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw AttestationError(
                .malformedKey, "\(file.path) is not a P-256 private key; restore it, or remove it to make a new installation")
        }
    }

    /// Makes a key; returns the other process's key if one was faster.
    private static func make(_ file: PrivateFile) throws -> P256.Signing.PrivateKey? {
        let key = P256.Signing.PrivateKey()
        return try file.create(Array(key.pemRepresentation.utf8)) ? key : try read(file)
    }

    private static func keepDeviceID(_ deviceID: DeviceID, in file: PrivateFile) throws {
        let text = Array((deviceID.base64 + "\n").utf8)
        if try file.read(upTo: maximumBytes) == nil, try file.create(text) { return }
        guard try file.read(upTo: maximumBytes) == text else {
            throw AttestationError(
                .fileUnreadable, "\(file.path) is not the device ID of the key beside it; restore both files, or remove this one")
        }
    }
}
