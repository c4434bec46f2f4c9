import CertificatePinning
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP

/// A relay client that is built on the module OHTTP alone.
struct ObliviousClient {
    let relay: String
    let key: KeyConfiguration
    let transport: CurlTransport

    /// The status of an answer that is not an encapsulated response.
    struct Refusal: Error {
        let status: Int
    }

    /// The gateway's preferred key.
    static func key(of gateway: String, over transport: CurlTransport) async throws -> KeyConfiguration {
        let response = try await ServerProcess.send(.none, to: "\(gateway)/ohttp-keys", method: .get, over: transport)
        return try KeyConfigurationList(decoding: try await response.body.collect(upTo: 1 << 16)).preferred()
    }

    /// A request for a target on this machine.
    static func request(_ url: String, method: HTTPRequest.Method = .get) throws -> HTTPRequest {
        let target = try TransportURL(url)
        return HTTPRequest(
            method: method, scheme: target.isSecure ? "https" : "http", authority: "\(target.host.urlText):\(target.port)",
            path: target.target)
    }

    /// Sends a request that is encapsulated as a whole.
    func ask(_ head: HTTPRequest, body: Data = Data()) async throws -> BinaryHTTPResponse {
        let sealed = try key.encapsulate(BinaryHTTPRequest(head: head, body: body).encoded(padding: .padme))
        let response = try await post(sealed.message)
        guard response.status == 200 else { throw Refusal(status: response.status) }
        return try BinaryHTTPResponse(decoding: try sealed.response.open(try await response.body.collect(upTo: 1 << 24)))
    }

    /// Sends a request that is encapsulated in chunks.
    func askInChunks(_ head: HTTPRequest) async throws -> BinaryHTTPResponse {
        let request = try key.chunkedRequest()
        var sealer = request.sealer
        var encoder = BinaryHTTPRequestEncoder()
        var message = try sealer.seal(encoder.head(head))
        message += try sealer.finish(encoder.end())
        let response = try await ServerProcess.send(.bytes(message), type: OHTTPMediaType.chunkedRequest, to: relay, over: transport)
        guard response.status == 200 else { throw Refusal(status: response.status) }
        var opener = request.response
        opener.append(try await response.body.collect(upTo: 1 << 24))
        var bytes = Data()
        while let part = try opener.next() { bytes.append(part) }
        bytes.append(try opener.finish())
        return try BinaryHTTPResponse(decoding: bytes)
    }

    /// Posts a message unchanged.
    func post(_ message: some Sequence<UInt8>) async throws -> TransportResponse {
        try await ServerProcess.send(.bytes([UInt8](message)), type: OHTTPMediaType.request, to: relay, over: transport)
    }

    /// Sends content in chunks and counts the bytes of the answer; neither is ever in memory as a whole.
    /// - Returns: The number of bytes in the answer.
    func stream(_ head: HTTPRequest, parts: Int, of size: Int) async throws -> Int {
        let request = try key.chunkedRequest()
        let content = try SealedParts(head, parts: parts, size: size, request.sealer)
        var opener = request.response
        var parser = BinaryHTTPResponseParser()
        let response = try await ServerProcess.send(
            .stream(length: nil, RequestBodyStream(content)), type: OHTTPMediaType.chunkedRequest, to: relay, over: transport)
        guard response.status == 200 else { throw Refusal(status: response.status) }
        var count = 0
        for try await part in response.body {
            opener.append(part)
            while let opened = try opener.next() {
                try parser.append(opened)
                while let event = try parser.next() { if case .body(let bytes) = event { count += bytes.count } }
            }
        }
        try parser.append(try opener.finish())
        parser.finish()
        while let event = try parser.next() {
            if case .body(let bytes) = event { count += bytes.count }
            if case .end = event { return count }
        }
        throw Refusal(status: 0)
    }
}

/// A request in chunks, each of which is made on demand.
private struct SealedParts: AsyncSequence, Sendable {
    typealias Element = [UInt8]

    private let state: Locked

    init(_ head: HTTPRequest, parts: Int, size: Int, _ sealer: consuming ChunkedRequestSealer) throws {
        state = try Locked(head, parts: parts, size: size, sealer)
    }

    func makeAsyncIterator() -> Iterator { Iterator(state: state) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let state: Locked

        mutating func next() async throws -> [UInt8]? { try await state.next() }
    }

    actor Locked {
        private var sealer: ChunkedRequestSealer?
        private var encoder: BinaryHTTPRequestEncoder? = BinaryHTTPRequestEncoder()
        private var head: HTTPRequest?
        private var remaining: Int
        private let part: Data

        init(_ head: HTTPRequest, parts: Int, size: Int, _ sealer: consuming ChunkedRequestSealer) throws {
            self.sealer = consume sealer
            self.head = head
            remaining = parts
            part = Data(repeating: 7, count: size)
        }

        func next() throws -> [UInt8]? {
            if let head {
                self.head = nil
                return try sealer?.seal(encoder?.head(head) ?? [])
            }
            if remaining > 0 {
                remaining -= 1
                return try sealer?.seal(encoder?.body(part) ?? [])
            }
            guard let last = sealer.take(), let encoder = encoder.take() else { return nil }
            return try last.finish(encoder.end())
        }
    }
}
