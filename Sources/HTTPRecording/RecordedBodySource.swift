import HTTPClient
import HTTPTypes

/// Hands a body on as it arrives, and has the exchange written when the body ends.
actor RecordedBodySource: ResponseBodySource {
    private let body: ResponseBody
    private let writer: RecordingWriter
    private let number: Int
    /// Writes the exchange; nil when it is written, or will not be.
    private var finish: (@Sendable (_ body: [UInt8]) throws -> Void)?
    private var held: [UInt8] = []
    /// Whether the exchange's files may exist, so that its number is taken.
    private var isWriting = false

    init(
        _ body: ResponseBody, _ writer: RecordingWriter, number: Int, finish: @escaping @Sendable (_ body: [UInt8]) throws -> Void
    ) {
        self.number = number
        self.body = body
        self.writer = writer
        self.finish = finish
    }

    deinit {
        // The caller dropped the body, so the exchange is not recorded.
        if finish != nil { writer.giveUp(isWriting ? nil : number, bytes: held.count) }
    }

    /// Gives up the exchange: without a part of its body it must not be recorded.
    private func giveUp() {
        guard finish != nil else { return }
        finish = nil
        writer.giveUp(isWriting ? nil : number, bytes: held.count)
        held = []
    }

    nonisolated var trailers: HTTPFields { body.trailerFields }

    func next() async throws -> [UInt8]? {
        do {
            return try await read()
        } catch {
            giveUp()
            throw error
        }
    }

    private func read() async throws -> [UInt8]? {
        var iterator = body.makeAsyncIterator()
        guard let part = try await iterator.next() else {
            guard let finish else { return nil }
            isWriting = true
            try finish(held)
            self.finish = nil
            held = []
            return nil
        }
        guard finish != nil else { return part }
        try writer.reserve(part.count, after: held.count)
        held += part
        return part
    }
}
