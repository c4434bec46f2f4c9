internal import Foundation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import OHTTP

/// One request that is encapsulated whole (RFC 9458), and its response.
struct WholeExchange: Sendable {
    let forwarder: OriginForwarder
    let slot: GatewayLoad.Slot
    let body: BorrowedRequestBody
    let eventLoop: any EventLoop
    /// When the answer must have ended.
    let deadline: ContinuousClock.Instant

    /// Opens the request, forwards it and seals what comes back.
    /// - Parameter keys: those that are accepted, once the message is there
    /// - Returns: the answer for the relay
    func answer(with keys: KeyWatch) async -> Response {
        let message: [UInt8]
        do {
            message = try await read()
        } catch {
            return forwarder.unread(error)
        }
        let keyring = keys.current.keyring
        do {
            let opened = try keyring.decapsulate(message)
            let response = try await response(to: opened.request, encapsulatedKey: opened.encapsulatedKey, keyID: opened.keyID)
            let sealed = try opened.response.seal(Self.encoded(response))
            return Response(
                status: .ok, headers: [.contentType: OHTTPMediaType.response, .cacheControl: "no-store"], body: content(sealed))
        } catch is OriginForwarder.Replayed {
            forwarder.metrics.count(.replayed)
            return .unknownKey
        } catch let error as OHTTPError where error.code == .decapsulationFailed {
            forwarder.unopened(namedKey: keyring.unknownKeyID(in: message))
            return .unknownKey
        } catch {
            forwarder.sealingFailed(error)
            return .problem(.internalServerError)
        }
    }

    /// An answer that keeps its place until it is written: so long it takes memory.
    private func content(_ sealed: [UInt8]) -> ResponseBody {
        ResponseBody(contentLength: sealed.count) { [slot, eventLoop] output in
            defer { withExtendedLifetime(slot) {} }
            var backpressure = WriteBackpressure(eventLoop)
            // In parts: a writer waits before one until the connection has taken those before, and for the end of none.
            var rest = ByteBuffer(bytes: sealed)
            while let part = rest.readSlice(length: min(rest.readableBytes, Self.partBytes)), part.readableBytes > 0 {
                try await output.write(part)
                try await backpressure.wrote(part.readableBytes)
            }
            try await output.finish(nil)
        }
    }

    private static let partBytes = 64 * 1024

    private func read() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await part in body { if bytes.isEmpty { bytes = part } else { bytes += part } }
        return bytes
    }

    private func response(to message: Data, encapsulatedKey: [UInt8], keyID: UInt8) async throws -> BinaryHTTPResponse {
        do {
            let request: BinaryHTTPRequest
            do {
                request = try BinaryHTTPRequest(
                    decoding: message, limits: BinaryHTTPLimits(fieldSectionBytes: forwarder.limits.fieldSectionBytes))
            } catch {
                forwarder.metrics.count(.malformed)
                throw InnerProblem(error)
            }
            let target = try forwarder.admit(request.head, encapsulatedKey: encapsulatedKey, keyID: keyID)
            return try await forward(request, to: target)
        } catch let problem as InnerProblem {
            return problem.response(at: forwarder.now)
        }
    }

    private func forward(_ request: BinaryHTTPRequest, to target: TransportURL) async throws -> BinaryHTTPResponse {
        let hasContent = !request.body.isEmpty || [.post, .put, .patch].contains(request.head.method)
        let response = try await forwarder.send(
            request.head, to: target, body: hasContent ? .bytes([UInt8](request.body)) : .none, isChunked: false, until: deadline)
        let content: [UInt8]
        do {
            content = try await response.body.collect(upTo: forwarder.limits.messageBytes)
        } catch {
            throw forwarder.failed(error, target)
        }
        forwarder.metrics.count(.answered)
        return BinaryHTTPResponse(head: forwarder.head(of: response), body: Data(content), trailers: forwarder.trailers(of: response))
    }

    /// Always padded: the relay learns the answer's size class, and not its size.
    ///
    /// It may still guess that an answer is the gateway's own, as that comes sooner than a target's; and what was refused inside is refused
    /// inside when it is sent again, while what went to a target is not opened twice.
    private static func encoded(_ response: BinaryHTTPResponse) throws -> [UInt8] {
        try response.encoded(framing: .knownLength, padding: .sizeClasses)
    }
}
