internal import ApproovBase
internal import COpenSSL

/// Makes pins from certificates, certification requests, and public or private keys, in PEM or DER.
public enum PublicKeyFile {
    /// The size limit of a file, in bytes.
    public static let maximumSize = 1 << 20

    /// The pins of a file without duplicates, in its order.
    ///
    /// - Parameter path: The path of the file.
    /// - Returns: At least one pin.
    /// - Throws: ``PinningError`` with code `unreadableFile`, `malformedKey`, `malformedCertificate`, or `encryptedKey` for an encrypted
    ///   private key: the program never asks for a passphrase. The message names the file.
    public static func pins(inFile path: String) throws -> [Pin] {
        var bytes = try BoundedFile.read(path, limit: maximumSize)
        defer { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        do {
            return try pins(in: bytes)
        } catch let error as PinningError {
            throw PinningError(error.code, "\"\(LoggableText.quoted(path, limit: 1_024))\": \(error.message)", cause: error.cause)
        }
    }

    /// The pins of PEM or DER without duplicates, in its order.
    ///
    /// - Parameter bytes: The bytes, at most ``maximumSize``.
    /// - Returns: At least one pin.
    /// - Throws: ``PinningError`` with code `malformedKey`, `malformedCertificate` or `encryptedKey`.
    public static func pins(in bytes: [UInt8]) throws -> [Pin] {
        guard bytes.count <= maximumSize else {
            throw PinningError(.malformedKey, "the file has more than \(maximumSize) bytes, too many for a key or certificate")
        }
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard PEMText.isPEM(bytes) else { return [try KeyEncoding.pin(anyDER: bytes)] }
        var pins: [Pin] = []
        var blocks = try PEM.blocks(bytes, onFailure: .malformedKey)
        defer { for index in blocks.indices { blocks[index].wipe() } }
        for index in blocks.indices {
            guard let pin = try KeyEncoding.pin(blocks[index]), !pins.contains(pin) else { continue }
            pins.append(pin)
        }
        guard !pins.isEmpty else {
            throw PinningError(.malformedKey, "the PEM text contains no certificate, certificate request or key")
        }
        return pins
    }
}
