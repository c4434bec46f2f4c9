import ApproovBase
import ApproovTesting
import Attestation
import Foundation
import HTTPClient
import HTTPTypes
import OHTTP
import Synchronization

@testable import Approov

/// A relay and the gateway behind it, of a few lines: opens what comes, asks the closure, seals what it answers.
final class SmallGateway: Sendable {
    /// What the test wants of the next requests.
    struct Script: Sendable {
        /// Answers in place of relay and gateway; nil: they answer themselves.
        var fault: (@Sendable (TransportRequest) async throws -> TransportResponse?)?
        /// Answers for the host.
        var host: @Sendable (BinaryHTTPRequest) throws -> BinaryHTTPResponse = { request in
            BinaryHTTPResponse(
                head: HTTPResponse(status: .ok, headerFields: [.contentType: "text/plain"]), body: Data((request.head.path ?? "").utf8))
        }
        var padding = BinaryHTTPPadding.none
        var knowsChunks = false
        /// The largest body of a response that is not in chunks.
        var wholeLimit = Int.max
        var statusForUnknownForm = 415
        /// What becomes of the parts of a chunked response on their way.
        var way: @Sendable (AsyncThrowingStream<[UInt8], any Error>) -> AsyncThrowingStream<[UInt8], any Error> = { $0 }
        /// Awaited between two parts of a chunked response.
        var pause: @Sendable () async -> Void = {}
    }

    let keyring: Shared<GatewayKeyring>
    let script = Shared(Script())
    /// The messages inside, in order.
    let opened = Shared<[BinaryHTTPRequest]>([])
    /// The encapsulated messages, in order.
    let received = Shared<[[UInt8]]>([])

    init(keyID: UInt8 = 1, kem: KeyConfiguration.KEM = .x25519) throws {
        keyring = Shared(try GatewayKeyring([GatewayKey(id: keyID, kem: kem)]))
    }

    var settings: ObliviousSettings {
        ObliviousSettings(relay: "https://relay.test/", keyConfig: Base64.encode(keyring.value.configurations.encoded()))
    }

    func respond(to request: TransportRequest) async throws -> TransportResponse {
        if let response = try await script.value.fault?(request) { return response }
        if request.headerFields[.contentType] == OHTTPMediaType.chunkedRequest, script.value.knowsChunks {
            return try await respondInChunks(to: request)
        }
        guard request.headerFields[.contentType] == OHTTPMediaType.request else {
            return TransportResponse(status: script.value.statusForUnknownForm, url: request.url)
        }
        let message = [UInt8](try await request.body.collected(upTo: 1 << 20))
        received.change { $0.append(message) }
        let decapsulated: DecapsulatedRequest
        do {
            decapsulated = try keyring.value.decapsulate(message)
        } catch {
            return Self.keyProblem(to: request)
        }
        let inner = try BinaryHTTPRequest(decoding: decapsulated.request)
        opened.change { $0.append(inner) }
        var response = try script.value.host(inner)
        if response.body.count > script.value.wholeLimit {
            response = BinaryHTTPResponse(
                head: HTTPResponse(status: .badGateway, headerFields: [.contentType: Problem.mediaType]),
                body: Data(JSONValue.object(["type": "urn:approov:problem:response-too-large"]).serialized()))
        }
        let answer = try response.encoded(padding: script.value.padding)
        return .bytes(try decapsulated.response.seal(answer), type: OHTTPMediaType.response, to: request)
    }

    /// What gateways answer to a message that they cannot open (RFC 9458, section 5.3).
    private static func keyProblem(to request: TransportRequest) -> TransportResponse {
        .bytes(JSONValue.object(["type": .string(OHTTPProblemType.key)]).serialized(), type: Problem.mediaType, status: 400, to: request)
    }

    private func respondInChunks(to request: TransportRequest) async throws -> TransportResponse {
        let message = [UInt8](try await request.body.collected(upTo: 256 << 20))
        received.change { $0.append(message) }
        var opener = keyring.value.chunkedRequestOpener()
        opener.append(message)
        var plain = Data()
        do {
            while let part = try opener.next() { plain.append(part) }
            plain.append(try opener.finish())
        } catch {
            return Self.keyProblem(to: request)
        }
        let answer: BinaryHTTPResponse
        // What is for the answers of a host does not concern the gateway's own.
        var script = Script()
        if let inner = try? BinaryHTTPRequest(decoding: plain) {
            opened.change { $0.append(inner) }
            script = self.script.value
            answer = try script.host(inner)
        } else {
            answer = BinaryHTTPResponse(head: HTTPResponse(status: .badRequest))
        }
        let (way, pause) = (script.way, script.pause)
        let sealer = opener.takeResponse()
        let parts = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        let box = ResponseBox(sealer)
        Task {
            do {
                for part in try box.parts(of: answer) {
                    parts.continuation.yield(part)
                    await pause()
                }
                parts.continuation.finish()
            } catch {
                parts.continuation.finish(throwing: error)
            }
        }
        return TransportResponse(
            status: 200, headerFields: [.contentType: OHTTPMediaType.chunkedResponse], url: request.url,
            body: ResponseBody(way(parts.stream)))
    }
}

/// Hands a sealer to the task that uses it.
private final class ResponseBox: Sendable {
    private let sealer: Mutex<ChunkedResponseSealer?>

    init(_ sealer: consuming ChunkedResponseSealer?) { self.sealer = Mutex(sealer) }

    /// The sealed response: the head, each 10,000 bytes of the body, the end.
    func parts(of response: BinaryHTTPResponse) throws -> [[UInt8]] {
        try sealer.withLock { sealer in
            guard var own = sealer.take() else { return [] }
            var encoder = BinaryHTTPResponseEncoder()
            var parts = [try own.seal(try encoder.head(response.head))]
            var rest = response.body
            while !rest.isEmpty {
                parts.append(try own.seal(try encoder.body(Data(rest.prefix(10_000)))))
                rest = rest.dropFirst(10_000)
            }
            parts.append(try own.finish(try encoder.end(trailers: response.trailers)))
            return parts
        }
    }
}
