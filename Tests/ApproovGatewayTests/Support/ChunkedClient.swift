import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Testing

/// A chunked message, and the opener of its response.
struct SealedChunks: ~Copyable {
    let message: [UInt8]
    let opener: ChunkedResponseOpener
}

extension RunningGateway {
    /// A complete request, encapsulated in chunks.
    func chunkedMessage(_ head: HTTPRequest, body: String = "") async throws -> SealedChunks {
        let request = try await keys().preferred().chunkedRequest()
        var sealer = request.sealer
        var encoder = BinaryHTTPRequestEncoder()
        var message = try sealer.seal(encoder.head(head))
        message += try sealer.seal(encoder.body(Data(body.utf8)))
        message += try sealer.finish(encoder.end())
        return SealedChunks(message: message, opener: request.response)
    }

    /// Sends a request to a target through the gateway, encapsulated in chunks.
    func askInChunks(_ head: HTTPRequest, body: String = "") async throws -> BinaryHTTPResponse {
        let sealed = try await chunkedMessage(head, body: body)
        let answer = try await post(sealed.message, type: OHTTPMediaType.chunkedRequest)
        guard answer.status == 200 else { throw GatewayRefusal(status: answer.status, body: answer.body) }
        #expect(answer.headers[.contentType] == OHTTPMediaType.chunkedResponse)
        #expect(answer.headers.contains { $0.name.canonicalName == "incremental" && $0.value == "?1" })
        var opener = sealed.opener
        opener.append(answer.body)
        var bytes = Data()
        while let part = try opener.next() { bytes.append(part) }
        bytes.append(try opener.finish())
        return try BinaryHTTPResponse(decoding: bytes)
    }
}

/// A chunked response that is read as it arrives.
struct ChunkedAnswer: ~Copyable {
    private var opener: ChunkedResponseOpener?
    private var parser = BinaryHTTPResponseParser()
    private var iterator: ResponseBody.Iterator

    init(_ response: TransportResponse, _ opener: consuming ChunkedResponseOpener) {
        self.opener = consume opener
        iterator = response.body.makeAsyncIterator()
    }

    /// The next part of the content as text; nil at the end, which the final chunk confirms.
    mutating func nextBody() async throws -> String? {
        while true {
            while let event = try parser.next() {
                if case .body(let bytes) = event { return String(decoding: bytes, as: UTF8.self) }
                if case .end = event { return nil }
            }
            if let part = try opener?.next() {
                try parser.append(part)
            } else if let part = try await iterator.next() {
                opener?.append(part)
            } else if let last = opener.take() {
                try parser.append(try last.finish())
                parser.finish()
            } else {
                return nil
            }
        }
    }
}
