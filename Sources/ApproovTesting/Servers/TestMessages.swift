public import HTTPTypes
import Hummingbird
import NIOCore

/// A request as a handler of ``TestHTTPServer`` sees it.
public struct TestRequest: Sendable {
    /// The method.
    public let method: HTTPRequest.Method
    /// The request target: path and query as they came over the wire.
    public let target: String
    /// What stood in `Host` or `:authority`.
    public let authority: String?
    /// The header fields, names in any case.
    public let headerFields: HTTPFields
    /// The body, read piece by piece as the handler asks for it.
    public let body: TestRequestBody
    /// The client's port: equal for two requests on the same connection.
    public let clientPort: Int?
    /// The client's address, without its port.
    public let clientAddress: String?

    /// The path without the query.
    public var path: String { String(target.prefix { $0 != "?" }) }
}

/// The body of a ``TestRequest``: an async sequence of pieces.
public struct TestRequestBody: AsyncSequence, Sendable {
    let base: RequestBody

    /// Reads the pieces of a request's body.
    public struct AsyncIterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator

        /// Waits for the next piece.
        /// - Returns: The bytes, or `nil` at the end.
        /// - Throws: When the client went away before the end.
        public mutating func next() async throws -> [UInt8]? {
            try await base.next().map { Array($0.readableBytesView) }
        }
    }

    /// Starts reading; a body can be read once.
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }

    /// Reads the whole body.
    /// - Parameter limit: The most bytes to take.
    /// - Returns: All bytes.
    /// - Throws: When the body is longer than `limit` or the client went away before its end.
    public func collect(upTo limit: Int = 16 << 20) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in self {
            guard piece.count <= limit - bytes.count else { throw TestServerError("the request's body is over \(limit) bytes") }
            bytes += piece
        }
        return bytes
    }
}

/// What a handler of ``TestHTTPServer`` answers.
public struct TestResponse: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case pieces(length: Int?, @Sendable (Int) async throws -> [UInt8]?)
    }

    /// The status.
    public var status: HTTPResponse.Status
    /// The header fields.
    ///
    /// The content length is added by the server.
    public var headerFields: HTTPFields
    let body: Body

    /// A response whose body is known.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - body: The body's bytes.
    public init(_ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headerFields = headerFields
        self.body = .bytes(body)
    }

    /// A response whose body is a text.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - text: The body, sent as UTF-8.
    public init(_ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], text: String) {
        self.init(status, headerFields: headerFields, body: Array(text.utf8))
    }

    /// A response whose body is made piece by piece, each when the client has taken the one before.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - length: The content length that is announced; `nil` sends it chunked.
    ///   - piece: Gets 0, 1, 2, … and returns the piece of that number, `nil` for the end. It may sleep; an error it throws
    ///     breaks the response off.
    public init(
        _ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], length: Int?,
        piece: @escaping @Sendable (Int) async throws -> [UInt8]?
    ) {
        self.status = status
        self.headerFields = headerFields
        body = .pieces(length: length, piece)
    }

    var hummingbird: Response {
        switch body {
        case .bytes(let bytes):
            return Response(status: status, headers: headerFields, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        case .pieces(let length, let piece):
            let body = ResponseBody(contentLength: length) { writer in
                var index = 0
                while let bytes = try await piece(index) {
                    try await writer.write(ByteBuffer(bytes: bytes))
                    index += 1
                }
                try await writer.finish(nil)
            }
            return Response(status: status, headers: headerFields, body: body)
        }
    }
}

/// What goes wrong in a server of this module, in words.
public struct TestServerError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public let description: String

    /// An error with its description.
    /// - Parameter description: What went wrong.
    public init(_ description: String) { self.description = description }
}
