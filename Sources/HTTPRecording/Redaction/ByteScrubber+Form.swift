extension ByteScrubber {
    /// Scrubs the names and values of a form.
    func scrubbedForm(_ bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            let end = bytes[position...].firstIndex { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "=") } ?? bytes.count
            output += scrubbed(position..<end, of: bytes, .form)
            output += bytes[end...].prefix(1)
            position = min(end + 1, bytes.count)
        }
        return output
    }
}
