internal import ApproovBase
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
    let slot: RequestSlot
    let body: BorrowedRequestBody
    let eventLoop: any EventLoop
    /// The time by which the response must be complete.
    let deadline: ContinuousClock.Instant

    /// Opens the request, forwards it and seals the response.
    /// - Parameter keys: The gateway's keys; those accepted when the message is complete are used.
    /// - Returns: The response to the relay.
    func answer(with keys: ReloadingKeyring) async -> Response {
        let message: [UInt8]
        do {
            message = try await read()
        } catch {
            return forwarder.unread(error)
        }
        let keys = keys.current
        let keyring = keys.keyring
        do {
            let opened = try keyring.decapsulate(message)
            // The keyring that opened the request has its key.
            guard let key = keys.identities[opened.keyID] else { return .unknownKey }
            let response = try await response(to: opened.request, encapsulatedKey: opened.encapsulatedKey, key: key)
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

    /// A response body that holds its slot until it is written, because it occupies memory until then.
    private func content(_ sealed: [UInt8]) -> ResponseBody {
        ResponseBody(contentLength: sealed.count) { [slot, eventLoop] output in
            defer { withExtendedLifetime(slot) {} }
            var backpressure = WriteBackpressure(eventLoop)
            // Written in parts: each write waits until the connection has taken the earlier parts, and without parts nothing would wait.
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

    private func response(to message: Data, encapsulatedKey: [UInt8], key: ReplayWindow.Key) async throws -> BinaryHTTPResponse {
        do {
            let request: BinaryHTTPRequest
            do {
                request = try BinaryHTTPRequest(
                    decoding: message, limits: BinaryHTTPLimits(fieldSectionBytes: forwarder.limits.fieldSectionBytes))
            } catch {
                forwarder.metrics.count(.malformed)
                throw InnerProblem(error)
            }
            let target = try forwarder.admit(request.head, encapsulatedKey: encapsulatedKey, key: key)
            return try await forward(request, to: target)
        } catch let problem as InnerProblem {
            return forwarder.response(to: problem)
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

    /// Encodes a response, always padded: the relay learns the response's size class, not its size.
    ///
    /// The relay can guess who answered in two ways. The gateway's own answers come sooner. If the relay resends a request, a forwarded
    /// request is refused outside the encapsulation, but a request that the gateway itself refused may be refused inside it again.
    private static func encoded(_ response: BinaryHTTPResponse) throws -> [UInt8] {
        try response.encoded(framing: .knownLength, padding: .sizeClasses)
    }
}
