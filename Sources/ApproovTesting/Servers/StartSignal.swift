/// Reports once that a server is ready, with a value such as its URL, or that it never will be.
final class StartSignal<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func succeed(_ value: Value) {
        continuation.yield(value)
        continuation.finish()
    }

    func fail() { continuation.finish() }

    func value() async -> Value? {
        for await value in stream { return value }
        return nil
    }
}
