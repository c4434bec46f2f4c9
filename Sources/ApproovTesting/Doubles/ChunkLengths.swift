/// Returns the lengths of a message's chunks, the final one last.
///
/// Every intermediary can read them (draft-ietf-ohai-chunked-ohttp, sections 4 and 5).
/// - Parameters:
///   - message: A whole message in chunks.
///   - prefix: The number of bytes before the chunks: header and encapsulated key, or the response nonce.
/// - Returns: The length of each sealed chunk.
package func chunkLengths(of message: [UInt8], after prefix: Int) -> [Int] {
    var rest = message.dropFirst(prefix)
    var lengths: [Int] = []
    while let first = rest.popFirst() {
        var length = Int(first & 0x3F)
        for _ in 1..<(1 << (first >> 6)) { length = length << 8 | Int(rest.popFirst() ?? 0) }
        guard length > 0 else { return lengths + [rest.count] }
        lengths.append(length)
        rest = rest.dropFirst(length)
    }
    return lengths
}
