import Attestation

/// The positions of a compact JWS's three segments; a value exists only if every byte is allowed.
struct TokenSegments {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// Whether a byte belongs to the base64url alphabet.
    private static let isAllowed: [Bool] = (0..<256).map { value in
        switch UInt8(value) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns nil unless the token has 1 to 8,192 bytes: three base64url segments between two dots, none empty or of impossible length.
    init?(_ token: UnsafeBufferPointer<UInt8>) {
        guard (1...TokenVerifier.maximumTokenBytes).contains(token.count) else { return nil }
        var dots = 0
        var first = 0
        var second = 0
        let valid = TokenSegments.isAllowed.withUnsafeBufferPointer { isAllowed in
            for index in 0..<token.count where !isAllowed[Int(token[index])] {
                guard token[index] == UInt8(ascii: "."), dots < 2 else { return false }
                if dots == 0 { first = index } else { second = index }
                dots += 1
            }
            return dots == 2
        }
        guard valid else { return nil }
        header = 0..<first
        payload = first + 1..<second
        signature = second + 1..<token.count
        for segment in [header, payload, signature] where segment.isEmpty || segment.count % 4 == 1 { return nil }
    }
}
