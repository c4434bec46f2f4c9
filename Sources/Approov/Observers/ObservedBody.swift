import HTTPClient

/// The body of a response that the caller reads part by part; it tells the call's observers of its end.
struct ObservedBody: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    let body: ResponseBody
    let call: ObservedCall

    func makeAsyncIterator() -> Iterator { Iterator(parts: body.makeAsyncIterator(), watch: Watch(call)) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var parts: ResponseBody.Iterator
        fileprivate let watch: Watch

        mutating func next() async throws -> [UInt8]? {
            do {
                guard let part = try await parts.next() else {
                    watch.call.finish(received: watch.received)
                    return nil
                }
                watch.received += part.count
                return part
            } catch {
                watch.call.fail(error)
                throw error
            }
        }
    }

    /// Notices when the reader drops the body before its end; a call that is over ignores that.
    ///
    /// `@unchecked Sendable`: only the iterator uses the count, and one consumer at a time uses the iterator.
    fileprivate final class Watch: @unchecked Sendable {
        let call: ObservedCall
        var received = 0

        init(_ call: ObservedCall) { self.call = call }

        deinit { call.fail(CancellationError()) }
    }
}
