import HTTPClient
import HTTPTypes

/// Hands on a body that was read to its end before, with its trailer fields.
actor ReadBodySource: ResponseBodySource {
    nonisolated let trailers: HTTPFields
    private var content: [UInt8]

    init(_ content: [UInt8], trailers: HTTPFields) {
        self.content = content
        self.trailers = trailers
    }

    func next() -> [UInt8]? {
        guard !content.isEmpty else { return nil }
        defer { content = [] }
        return content
    }
}
