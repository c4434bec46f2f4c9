public import Foundation
public import HTTPTypes
import Hummingbird
import NIOCore

/// A request as a handler of ``TestHTTPServer`` sees it.
public struct TestRequest: Sendable {
    /// The method.
    public let method: HTTPRequest.Method
    /// The request target: path and query as received.
    public let target: String
    /// The value of `Host` or `:authority`.
    public let authority: String?
    /// The header fields; names are case-insensitive.
    public let headerFields: HTTPFields
    /// The body, which the handler reads piece by piece.
    public let body: TestRequestBody
    /// The client's port; two requests on the same connection have the same one.
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
        /// - Throws: When the client is gone before the end.
        public mutating func next() async throws -> [UInt8]? {
            try await base.next().map { Array($0.readableBytesView) }
        }
    }

    /// Starts reading; a body can be read once.
    /// - Returns: The iterator.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator()) }

    /// Reads the whole body.
    /// - Parameter limit: The maximum size in bytes.
    /// - Returns: All bytes.
    /// - Throws: `TestServerError` when the body is longer than `limit`; another error when the client is gone before its end.
    public func collect(upTo limit: Int = 16 << 20) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await piece in self {
            guard piece.count <= limit - bytes.count else { throw TestServerError("the request's body has more than \(limit) bytes") }
            bytes += piece
        }
        return bytes
    }
}

/// The response of a ``TestHTTPServer`` handler.
public struct TestResponse: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case pieces(length: Int?, @Sendable (Int) async throws -> [UInt8]?)
    }

    /// The status.
    public var status: HTTPResponse.Status
    /// The header fields.
    ///
    /// The server adds the content length unless it is among them, as in an answer to HEAD.
    public var headerFields: HTTPFields
    let body: Body

    /// Makes a response with a body of bytes.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - body: The body's bytes.
    public init(_ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headerFields = headerFields
        self.body = .bytes(body)
    }

    /// Makes a response with a text as its body.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - text: The body, sent as UTF-8.
    public init(_ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], text: String) {
        self.init(status, headerFields: headerFields, body: Array(text.utf8))
    }

    /// Makes a response whose body is produced piece by piece, each after the client has taken the previous one.
    /// - Parameters:
    ///   - status: The status.
    ///   - headerFields: The header fields.
    ///   - length: The announced content length; `nil` sends the body chunked.
    ///   - piece: Receives 0, 1, 2, … and returns the piece with that number, or `nil` at the end. It may sleep; an error it throws
    ///     aborts the response.
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

/// An error of a server of this module, in words.
public struct TestServerError: LocalizedError, Sendable, CustomStringConvertible {
    /// What went wrong.
    public let description: String

    /// Makes an error with a description.
    /// - Parameter description: What went wrong.
    public init(_ description: String) { self.description = description }

    /// The same as the description, so that `localizedDescription` is useful.
    public var errorDescription: String? { description }
}
