import Dispatch
import Foundation
import FoundationNetworking
import HTTPClient

extension RequestBody {
    /// The body that a request carries itself.
    init(of request: URLRequest) {
        if let data = request.httpBody {
            self = .bytes([UInt8](data))
        } else if let stream = request.httpBodyStream {
            let length = request.value(forHTTPHeaderField: "Content-Length").flatMap(Int.init)
            self = .stream(length: length, RequestBodyStream(InputStreamParts(stream)))
        } else {
            self = .none
        }
    }
}

/// The bytes of an input stream in parts, read when they are asked for.
///
/// Reading blocks, so it happens on a queue of its own; nothing is read ahead.
struct InputStreamParts: AsyncSequence, Sendable {
    /// The most bytes of a part.
    static let partSize = 64 << 10

    private let reader: Reader

    init(_ stream: InputStream) {
        reader = Reader(stream)
    }

    func makeAsyncIterator() -> Iterator { Iterator(reader: reader) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        mutating func next() async throws -> [UInt8]? { try await reader.next() }
    }

    /// `@unchecked Sendable`: the stream is touched on the serial queue only.
    fileprivate final class Reader: @unchecked Sendable {
        private let stream: InputStream
        private let queue = DispatchQueue(label: "approov.body-stream")
        private var isOpen = false

        init(_ stream: InputStream) {
            self.stream = stream
        }

        deinit {
            if isOpen { stream.close() }
        }

        func next() async throws -> [UInt8]? {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { continuation.resume(with: Result { try self.read() }) }
            }
        }

        private func read() throws -> [UInt8]? {
            if !isOpen {
                // Opened anew, it would look like one without any bytes.
                guard ![.atEnd, .closed, .error].contains(stream.streamStatus) else {
                    throw ApproovError(.bodyFailed, "the request's body stream was read before: give each request a stream of its own")
                }
                stream.open()
                isOpen = true
            }
            var count = 0
            let part = [UInt8](unsafeUninitializedCapacity: InputStreamParts.partSize) { buffer, initialized in
                guard let base = buffer.baseAddress else { return }
                count = stream.read(base, maxLength: buffer.count)
                initialized = Swift.max(0, count)
            }
            guard count >= 0 else {
                throw ApproovError(.bodyFailed, "the request's body stream cannot be read", cause: stream.streamError)
            }
            return count == 0 ? nil : part
        }
    }
}
