/// Splits bytes into lines that end with LF, CR or CRLF; a value without tasks.
struct LineBuffer: Sendable {
    /// The maximum number of bytes of a line.
    let limit: Int
    private var line: [UInt8] = []
    private var chunk: [UInt8] = []
    private var position = 0
    /// Whether the last line ended with CR, so that LF at the start of the next belongs to it.
    private var wasReturn = false

    init(limit: Int) { self.limit = max(0, limit) }

    /// Takes more bytes; call it when ``next()`` has returned nil.
    mutating func append(_ bytes: [UInt8]) {
        chunk = bytes
        position = 0
    }

    /// Returns the next line without its end; nil when more bytes are needed.
    ///
    /// - Throws: ``ApproovError`` with code `responseTooLarge` when the line is longer than the limit.
    mutating func next() throws -> [UInt8]? {
        if wasReturn, position < chunk.count {
            wasReturn = false
            if chunk[position] == 0x0A { position += 1 }
        }
        guard position < chunk.count else { return nil }
        let end = chunk[position...].firstIndex { $0 == 0x0A || $0 == 0x0D }
        let part = chunk[position..<(end ?? chunk.count)]
        guard part.count <= limit - line.count else {
            throw ApproovError(.responseTooLarge, "the response has a line of more than \(limit) bytes: raise the limit")
        }
        line += part
        guard let end else {
            position = chunk.count
            return nil
        }
        wasReturn = chunk[end] == 0x0D
        position = end + 1
        defer { line.removeAll() }
        return line
    }

    /// Returns the bytes after the last line's end, at the end of the body; nil if there are none.
    mutating func rest() -> [UInt8]? {
        defer { line.removeAll() }
        return line.isEmpty ? nil : line
    }
}
