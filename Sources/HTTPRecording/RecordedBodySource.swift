import HTTPClient
import HTTPTypes

/// Hands a body on as it arrives, and has the exchange written when the body ends.
actor RecordedBodySource: ResponseBodySource {
    private let body: ResponseBody
    private let writer: RecordingWriter
    /// Writes the exchange; nil when it was called.
    private var finish: (@Sendable (_ body: [UInt8]) throws -> Void)?
    private var held: [UInt8] = []

    init(_ body: ResponseBody, _ writer: RecordingWriter, finish: @escaping @Sendable (_ body: [UInt8]) throws -> Void) {
        self.body = body
        self.writer = writer
        self.finish = finish
    }

    deinit {
        // The caller dropped the body, so the exchange is not recorded.
        if finish != nil { writer.release(held.count) }
    }

    nonisolated var trailers: HTTPFields { body.trailerFields }

    func next() async throws -> [UInt8]? {
        var iterator = body.makeAsyncIterator()
        guard let part = try await iterator.next() else {
            guard let finish else { return nil }
            self.finish = nil
            let whole = held
            held = []
            do {
                try finish(whole)
            } catch {
                writer.release(whole.count)
                throw error
            }
            return nil
        }
        try writer.reserve(part.count, after: held.count)
        held += part
        return part
    }
}
