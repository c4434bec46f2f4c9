internal import Foundation
internal import HTTPListener
internal import HTTPTransport
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import OHTTP

/// One request that is encapsulated whole (RFC 9458), and its response.
struct WholeExchange: Sendable {
    private struct TookTooLong: Error {}

    let forwarder: OriginForwarder
    let body: BorrowedRequestBody

    /// Opens the request, forwards it and seals what comes back.
    func answer(openingWith keyring: GatewayKeyring) async -> Response {
        let message: [UInt8]
        do {
            message = try await read()
        } catch is BorrowedRequestBody.TooLong {
            return .problem(.contentTooLarge)
        } catch {
            return .problem(error is TookTooLong ? .requestTimeout : .badRequest)
        }
        do {
            let opened = try keyring.decapsulate(message)
            let response = try await response(to: opened.request, encapsulatedKey: opened.encapsulatedKey, keyID: opened.keyID)
            let sealed = try opened.response.seal(Self.encoded(response))
            return Response(
                status: .ok, headers: [.contentType: OHTTPMediaType.response, .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: sealed)))
        } catch is OriginForwarder.Replayed {
            forwarder.metrics.count(.replayed)
            return .unknownKey
        } catch let error as OHTTPError where error.code == .decapsulationFailed {
            forwarder.metrics.count(.unopened)
            return .unknownKey
        } catch {
            forwarder.sealingFailed(error)
            return .problem(.internalServerError)
        }
    }

    private func read() async throws -> [UInt8] {
        let (body, timeout) = (body, forwarder.limits.requestTimeout)
        return try await withThrowingTaskGroup(of: [UInt8].self) { group in
            group.addTask {
                var bytes: [UInt8] = []
                for try await part in body { if bytes.isEmpty { bytes = part } else { bytes += part } }
                return bytes
            }
            group.addTask {
                try await Task.sleep(for: timeout, clock: .continuous)
                throw TookTooLong()
            }
            defer { group.cancelAll() }
            return try await group.next() ?? []
        }
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
            request.head, to: target, body: hasContent ? .bytes([UInt8](request.body)) : .none, isChunked: false)
        let content: [UInt8]
        do {
            content = try await response.body.collect(upTo: forwarder.limits.messageBytes)
        } catch {
            throw forwarder.failed(error, target)
        }
        forwarder.metrics.count(.answered)
        return BinaryHTTPResponse(head: forwarder.head(of: response), body: Data(content), trailers: forwarder.trailers(of: response))
    }

    /// Always padded: the relay learns the answer's size class, and cannot tell the gateway's own from other small ones.
    private static func encoded(_ response: BinaryHTTPResponse) throws -> [UInt8] {
        try response.encoded(framing: .knownLength, padding: .sizeClasses)
    }
}
