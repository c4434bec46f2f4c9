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

    let leg: OriginLeg
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
        } catch is OriginLeg.Replayed {
            leg.metrics.count(.replayed)
            return .unknownKey
        } catch let error as OHTTPError where error.code == .decapsulationFailed {
            leg.metrics.count(.unopened)
            return .unknownKey
        } catch {
            leg.sealingFailed(error)
            return .problem(.internalServerError)
        }
    }

    private func read() async throws -> [UInt8] {
        let (body, timeout) = (body, leg.limits.requestTimeout)
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
                    decoding: message, limits: BinaryHTTPLimits(fieldSectionBytes: leg.limits.fieldSectionBytes))
            } catch {
                leg.metrics.count(.malformed)
                throw InnerProblem(error)
            }
            let target = try leg.admit(request.head, encapsulatedKey: encapsulatedKey, keyID: keyID)
            return try await forward(request, to: target)
        } catch let problem as InnerProblem {
            return problem.response(at: leg.now)
        }
    }

    private func forward(_ request: BinaryHTTPRequest, to target: TransportURL) async throws -> BinaryHTTPResponse {
        let hasContent = !request.body.isEmpty || [.post, .put, .patch].contains(request.head.method)
        let response = try await leg.send(
            request.head, to: target, body: hasContent ? .bytes([UInt8](request.body)) : .none, isChunked: false)
        let content: [UInt8]
        do {
            content = try await response.body.collect(upTo: leg.limits.messageBytes)
        } catch {
            throw leg.failed(error, target)
        }
        leg.metrics.count(.answered)
        return BinaryHTTPResponse(head: leg.head(of: response), body: Data(content), trailers: leg.trailers(of: response))
    }

    /// Always padded: the relay learns the answer's size class, and cannot tell the gateway's own from other small ones.
    private static func encoded(_ response: BinaryHTTPResponse) throws -> [UInt8] {
        try response.encoded(framing: .knownLength, padding: .sizeClasses)
    }
}
