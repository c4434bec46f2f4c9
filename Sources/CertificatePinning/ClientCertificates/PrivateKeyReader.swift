internal import ApproovBase
internal import COpenSSL

/// Reads private keys; the program supplies the password of an encrypted one.
enum PrivateKeyReader {
    /// The size limit of a key, in bytes.
    static let maximumSize = 1 << 20

    /// Reads the key; the caller must free it.
    static func key(from source: ClientIdentity.PrivateKey, password: (() throws -> String?)?) throws -> OpaquePointer {
        var bytes: [UInt8]
        switch source {
        case .file(let path): bytes = try BoundedFile.read(path, limit: maximumSize)
        case .callback(let fetch): bytes = try fetch()
        case .bytes(let callers): return try key(in: callers, password)
        }
        defer { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        return try key(in: bytes, password)
    }

    private static func key(in bytes: [UInt8], _ password: (() throws -> String?)?) throws -> OpaquePointer {
        guard bytes.count <= maximumSize else { throw PinningError(.malformedKey, "the private key has more than \(maximumSize) bytes") }
        ERR_clear_error()
        defer { ERR_clear_error() }
        return PEMText.isPEM(bytes) ? try key(inPEM: bytes, password) : try key(inDER: bytes, password)
    }

    private static func key(inPEM bytes: [UInt8], _ password: (() throws -> String?)?) throws -> OpaquePointer {
        let blocks = try PEM.blocks(bytes, onFailure: .malformedKey, keepingBytes: false).filter { $0.label.hasSuffix("PRIVATE KEY") }
        guard blocks.count == 1 else {
            throw PinningError(.malformedKey, "the PEM text contains \(blocks.count) private keys; give exactly one")
        }
        // Proc-Type: 4,ENCRYPTED (RFC 1421, section 4.6.1.1)
        let isEncrypted = blocks[0].label == "ENCRYPTED PRIVATE KEY" || blocks[0].header.contains("ENCRYPTED")
        return try read(bytes, isEncrypted: isEncrypted, password) { PEM_read_bio_PrivateKey($0, nil, PasswordBox.callback, $1) }
    }

    private static func key(inDER bytes: [UInt8], _ password: (() throws -> String?)?) throws -> OpaquePointer {
        if KeyEncoding.isEncryptedPrivateKey(bytes) {
            return try read(bytes, isEncrypted: true, password) { d2i_PKCS8PrivateKey_bio($0, nil, PasswordBox.callback, $1) }
        }
        let key = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let key = d2i_AutoPrivateKey(nil, &cursor, buffer.count) else { return nil }
            guard cursor == buffer.baseAddress.map({ $0 + buffer.count }) else {
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }
        guard let key else {
            throw PinningError(.malformedKey, "the bytes are not a private key in PEM or DER (\(OpenSSLText.takeError()))")
        }
        return key
    }

    private static func read(
        _ bytes: [UInt8], isEncrypted: Bool, _ password: (() throws -> String?)?,
        _ parse: (OpaquePointer, UnsafeMutableRawPointer) -> OpaquePointer?
    ) throws -> OpaquePointer {
        let text = isEncrypted ? try password?() : nil
        guard !isEncrypted || text != nil else {
            throw PinningError(.encryptedKey, "the private key is encrypted; give its password, or decrypt it with `openssl pkey -in FILE`")
        }
        let box = PasswordBox(text ?? "")
        let key = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { BIO_free(bio) }
            return withExtendedLifetime(box) { parse(bio, Unmanaged.passUnretained(box).toOpaque()) }
        }
        if let key { return key }
        throw isEncrypted
            ? PinningError(.wrongPassword, "the password does not open the private key (\(OpenSSLText.takeError()))")
            : PinningError(.malformedKey, "the private key cannot be parsed (\(OpenSSLText.takeError()))")
    }
}

/// Holds a password during one call of OpenSSL, which without a callback would ask for it on the terminal.
private final class PasswordBox {
    private var bytes: [UInt8]

    init(_ password: String) { bytes = [UInt8](password.utf8) }

    deinit { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }

    static let callback: @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 = {
        buffer, size, _, pointer in
        guard let buffer, let pointer else { return -1 }
        let bytes = Unmanaged<PasswordBox>.fromOpaque(pointer).takeUnretainedValue().bytes
        // A truncated password would be a different one.
        guard bytes.count <= Int(size) else { return -1 }
        UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)).copyBytes(from: bytes)
        return Int32(bytes.count)
    }
}
