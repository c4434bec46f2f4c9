import Foundation
import HTTPTypes
import OHTTP

/// Posts numbered requests through an OHTTP gateway to an origin that answers each with its body.
///
/// Clients with odd numbers encapsulate their requests in chunks, the others whole.
struct ObliviousEchoClient: BusyClient {
    private let connection: any PostingConnection
    private let key: KeyConfiguration
    private let head: HTTPRequest
    private let client: Int
    private var number = 0

    /// - Parameters:
    ///   - client: The client's number, which makes its requests different from those of others.
    ///   - connection: Posts to the gateway.
    ///   - key: The gateway's key.
    ///   - origin: The authority of the origin, which speaks plain http.
    init(_ client: Int, _ connection: any PostingConnection, key: KeyConfiguration, origin: String) {
        (self.client, self.connection, self.key) = (client, connection, key)
        head = HTTPRequest(method: .post, scheme: "http", authority: origin, path: "/")
    }

    mutating func request() async throws -> (id: String, isAnswered: Bool)? {
        number += 1
        let id = "\(client)-\(number)"
        let answer = client.isMultiple(of: 2) ? try await askWhole(id) : try await askInChunks(id)
        return (id, answer?.head.status == .ok && answer?.body == Data(id.utf8))
    }

    func end() async { await connection.end() }

    /// Sends a request encapsulated whole.
    /// - Returns: The origin's answer; nil if there is none that can be opened.
    private func askWhole(_ id: String) async throws -> BinaryHTTPResponse? {
        let sealed = try key.encapsulate(BinaryHTTPRequest(head: head, body: Data(id.utf8)).encoded(padding: .padme))
        guard let answer = await post([UInt8](sealed.message), type: OHTTPMediaType.request) else { return nil }
        return try? BinaryHTTPResponse(decoding: try sealed.response.open(answer))
    }

    /// Sends a request encapsulated in chunks.
    /// - Returns: The origin's answer; nil if there is none that can be opened up to its end.
    private func askInChunks(_ id: String) async throws -> BinaryHTTPResponse? {
        let request = try key.chunkedRequest()
        var sealer = request.sealer
        var encoder = BinaryHTTPRequestEncoder()
        var message = try sealer.seal(encoder.head(head))
        message += try sealer.seal(encoder.body(Data(id.utf8)))
        message += try sealer.finish(encoder.end())
        guard let answer = await post(message, type: OHTTPMediaType.chunkedRequest) else { return nil }
        return try? Self.opened(answer, request.response)
    }

    private static func opened(_ answer: [UInt8], _ opener: consuming ChunkedResponseOpener) throws -> BinaryHTTPResponse {
        opener.append(answer)
        var bytes = Data()
        while let part = try opener.next() { bytes.append(part) }
        bytes.append(try opener.finish())
        return try BinaryHTTPResponse(decoding: bytes)
    }

    private func post(_ message: [UInt8], type: String) async -> [UInt8]? {
        guard let answer = try? await connection.post("/gateway", type: type, message), answer.status == 200 else { return nil }
        return answer.body
    }
}
