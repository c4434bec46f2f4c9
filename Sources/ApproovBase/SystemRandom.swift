/// Random bytes from the system.
package enum SystemRandom {
    package static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        // One word at a time, because every word is a call into the kernel.
        return Array(unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                withUnsafeBytes(of: generator.next() as UInt64) { word in
                    for byte in word.prefix(count - filled) {
                        buffer.initializeElement(at: filled, to: byte)
                        filled += 1
                    }
                }
            }
        }
    }
}
