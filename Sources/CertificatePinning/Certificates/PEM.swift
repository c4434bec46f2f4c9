internal import COpenSSL

/// PEM blocks (RFC 7468), read by OpenSSL without decrypting anything.
enum PEM {
    /// One block.
    struct Block {
        let label: String
        /// RFC 1421 headers, by which old private keys say that they are encrypted.
        let header: String
        let bytes: [UInt8]
    }

    static func isPEM(_ bytes: [UInt8]) -> Bool {
        bytes.firstRange(of: Array("-----BEGIN ".utf8)) != nil
    }

    /// The blocks in the order of the text; what stands between them is ignored.
    ///
    /// - Throws: ``PinningError`` with the given code for a block that does not end or does not decode.
    static func blocks(_ text: [UInt8], onFailure code: PinningError.Code) throws -> [Block] {
        guard let count = Int32(exactly: text.count) else { throw PinningError(code, "the PEM text is too large") }
        OpenSSLLibrary.prepare()
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
                            code, "PEM block \(blocks.count + 1) does not decode (\(OpenSSLText.takeError())): is the text complete?")
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
                        bytes: [UInt8](UnsafeBufferPointer(start: data, count: max(0, length)))))
            }
        }
    }
}
