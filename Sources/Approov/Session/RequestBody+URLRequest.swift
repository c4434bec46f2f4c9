import Dispatch
import Foundation
import FoundationNetworking
import HTTPClient

extension RequestBody {
    /// Creates the body from the request's `httpBody` or `httpBodyStream`.
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

/// Reads an input stream in parts, on demand.
///
/// Reading blocks, so it happens on a separate serial queue. Nothing is read ahead.
struct InputStreamParts: AsyncSequence, Sendable {
    /// The maximum size of a part in bytes.
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

    /// `@unchecked Sendable`: only the serial queue uses the stream.
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
                // Reopening a stream that was read before would make it look empty.
                guard ![.atEnd, .closed, .error].contains(stream.streamStatus) else {
                    throw ApproovError(.bodyFailed, "the request's body stream was read before: give each request its own stream")
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
