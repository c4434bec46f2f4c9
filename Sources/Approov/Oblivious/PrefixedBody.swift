import HTTPClient

/// A body whose first bytes have already been read.
struct PrefixedBody: AsyncSequence, Sendable {
    let prefix: [UInt8]
    let rest: ResponseBody.Iterator

    func makeAsyncIterator() -> Iterator { Iterator(prefix: prefix, rest: rest) }

    struct Iterator: AsyncIteratorProtocol {
        var prefix: [UInt8]
        var rest: ResponseBody.Iterator

        mutating func next() async throws -> [UInt8]? {
            guard prefix.isEmpty else {
                defer { prefix = [] }
                return prefix
            }
            return try await rest.next()
        }
    }
}
