/// The positions of a compact JWS's three segments; a value exists only if every byte is allowed.
struct TokenSegments {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// Returns nil unless the token has 1 to 8,192 bytes: three base64url segments between two dots, none empty or of impossible length.
    init?(_ token: UnsafeBufferPointer<UInt8>) {
        let dot = UInt8(ascii: ".")
        guard (1...TokenVerifier.maximumTokenBytes).contains(token.count), let first = token.firstIndex(of: dot),
            let last = token.lastIndex(of: dot), first < last
        else { return nil }
        header = 0..<first
        payload = first + 1..<last
        signature = last + 1..<token.count
        for segment in [header, payload, signature] {
            guard !segment.isEmpty, segment.count % 4 != 1, Self.isBase64URL(UnsafeBufferPointer(rebasing: token[segment])) else {
                return nil
            }
        }
    }

    /// Whether all bytes belong to the base64url alphabet.
    ///
    /// The loop has no branches, so that the compiler makes it compare many bytes at once: every token passes through it.
    private static func isBase64URL(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var foreign: UInt8 = 0
        for byte in bytes {
            // Both cases of a letter differ in this bit alone.
            let isLetter: UInt8 = (byte | 0x20) &- UInt8(ascii: "a") < 26 ? 1 : 0
            let isDigit: UInt8 = byte &- UInt8(ascii: "0") < 10 ? 1 : 0
            let isHyphen: UInt8 = byte == UInt8(ascii: "-") ? 1 : 0
            let isUnderscore: UInt8 = byte == UInt8(ascii: "_") ? 1 : 0
            foreign |= (isLetter | isDigit | isHyphen | isUnderscore) ^ 1
        }
        return foreign == 0
    }
}
