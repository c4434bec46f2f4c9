/// Always the same random numbers (SplitMix64), so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64 = 9_421

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Bytes with up to `count` of them changed, inserted or removed.
    mutating func edited(_ text: [UInt8], count: Int, with bytes: [UInt8]) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 0...count, using: &self) where !text.isEmpty {
            let index = Int.random(in: text.indices, using: &self)
            let byte = bytes.randomElement(using: &self) ?? 0
            switch Int.random(in: 0...2, using: &self) {
            case 0: text[index] = byte
            case 1: text.insert(byte, at: index)
            default: text.remove(at: index)
            }
        }
        return text
    }
}
