import Attestation

/// Where the three segments of a compact JWS lie, once every byte has been seen to be allowed.
struct TokenSegments {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// Whether a byte is of base64url's alphabet.
    private static let isAllowed: [Bool] = (0..<256).map { value in
        switch UInt8(value) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Nil unless the token is 1 to 8,192 bytes: three segments of base64url, none empty or of impossible length, between two dots.
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
