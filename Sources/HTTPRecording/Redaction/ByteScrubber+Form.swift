extension ByteScrubber {
    /// Scrubs the names and values of a form.
    func scrubbedForm(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        var isName = true
        while position < bytes.count {
            let end = endOfPart(in: bytes, at: position, isName: isName)
            output += scrubbed(position..<end, of: bytes, .form)
            output += bytes[end...].prefix(1)
            isName = end == bytes.count || bytes[end] == UInt8(ascii: "&")
            position = min(end + 1, bytes.count)
        }
        return output
    }

    /// Where a name or a value ends.
    ///
    /// A separator inside a known secret does not end the part, although it should have been encoded.
    private func endOfPart(in bytes: [UInt8], at begin: Int, isName: Bool) -> Int {
        var endOfSecret = begin
        for index in begin..<bytes.count {
            endOfSecret = max(endOfSecret, secrets.end(in: bytes, at: index) ?? begin)
            let isSeparator = bytes[index] == UInt8(ascii: "&") || isName && bytes[index] == UInt8(ascii: "=")
            if isSeparator, index >= endOfSecret { return index }
        }
        return bytes.count
    }
}
