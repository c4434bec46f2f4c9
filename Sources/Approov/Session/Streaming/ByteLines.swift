/// Reads the lines of a body as bytes.
struct ByteLines {
    private var chunks: ApproovBytes.Chunks.Iterator
    private var buffer: LineBuffer
    private var isOver = false
    /// Whether the last line had an end.
    private(set) var isWhole = true

    init(_ chunks: ApproovBytes.Chunks, limit: Int) {
        self.chunks = chunks.makeAsyncIterator()
        buffer = LineBuffer(limit: limit)
    }

    /// Returns the next line, or nil at the end; on the caller's actor, so that no line of a wiped request is returned.
    mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
        guard !isOver else { return nil }
        do {
            try chunks.flight?.check()
            while true {
                if let line = try buffer.next() { return line }
                guard let chunk = try await chunks.next(isolation: actor) else { break }
                buffer.append(chunk)
            }
        } catch {
            isOver = true
            throw error
        }
        (isOver, isWhole) = (true, false)
        return buffer.rest()
    }
}
