internal import ApproovBase
internal import COpenSSL

/// Reads PEM blocks (RFC 7468) through OpenSSL, without decrypting anything.
enum PEM {
    /// One PEM block.
    struct Block {
        let label: String
        /// The RFC 1421 headers; old private keys state in them that they are encrypted.
        let header: String
        /// The decoded bytes; empty when `blocks` was called without `keepingBytes`.
        var bytes: [UInt8]

        /// Overwrites the bytes.
        mutating func wipe() { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    }

    private static func hasTrailingText(_ text: [UInt8]) -> Bool {
        guard let last = text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }).last(where: { !$0.allSatisfy(isBlank) }),
            PEMText.isPEM(text)
        else { return false }
        // Only an END line at the first column ends a block; after leading spaces it is not PEM either.
        return !last.starts(with: "-----END ".utf8)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// The blocks in the order of the text; explanatory text before a block is ignored (RFC 7468, section 5.2).
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - code: The code of the errors.
    ///   - isStrict: Whether anything but white space after the last block is an error. It usually means that the text was cut off or put
    ///     together wrongly, and the caller would silently get fewer blocks than intended.
    ///   - keepingBytes: Whether the blocks get their bytes; without them no copy of a key is made.
    /// - Returns: The blocks; empty when the text has none.
    /// - Throws: ``PinningError`` with the given code for a block that does not end or does not decode, or for text after the last block.
    static func blocks(
        _ text: [UInt8], onFailure code: PinningError.Code, isStrict: Bool = true, keepingBytes: Bool = true
    ) throws -> [Block] {
        guard let count = Int32(exactly: text.count) else { throw PinningError(code, "the PEM text is too large") }
        if isStrict, hasTrailingText(text) {
            throw PinningError(code, "text follows the last PEM block; remove it, or complete its block")
        }
        return try text.withUnsafeBytes { buffer in
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, count) else { return [] }
            defer { BIO_free(bio) }
            var blocks: [Block] = []
            ERR_clear_error()
            while true {
                var label: UnsafeMutablePointer<CChar>?
                var header: UnsafeMutablePointer<CChar>?
                var data: UnsafeMutablePointer<UInt8>?
                var length = 0
                guard PEM_read_bio(bio, &label, &header, &data, &length) == 1 else {
                    guard COpenSSL_is_end_of_pem(ERR_peek_last_error()) == 1 else {
                        throw PinningError(
                            code,
                            "PEM block \(blocks.count + 1) cannot be decoded (\(OpenSSLText.takeError())); check that the text is complete")
                    }
                    ERR_clear_error()
                    return blocks
                }
                defer {
                    COpenSSL_free(label)
                    COpenSSL_free(header)
                    COpenSSL_clear_free(data, max(0, length))
                }
                blocks.append(
                    Block(
                        label: label.map { String(cString: $0) } ?? "",
                        header: header.map { String(cString: $0) } ?? "",
                        bytes: keepingBytes ? [UInt8](UnsafeBufferPointer(start: data, count: max(0, length))) : []))
            }
        }
    }
}
