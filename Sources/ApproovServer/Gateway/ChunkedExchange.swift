internal import Foundation
internal import HTTPListener
internal import HTTPTransport
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import OHTTP

/// One request that is encapsulated in chunks (draft-ietf-ohai-chunked-ohttp), and its response: both are forwarded as they come.
struct ChunkedExchange: Sendable {
    let leg: OriginLeg
    let slot: GatewayLoad.Slot
    let body: BorrowedRequestBody
    let eventLoop: any EventLoop

    /// Opens the request, forwards it and seals what comes back.
    ///
    /// What fails before a first chunk could be opened is answered outside of encapsulation, in the one way there is; what fails later is
    /// answered inside; and what fails after an answer has begun breaks that off, which the client notices by its missing last chunk.
    func answer(openingWith keyring: GatewayKeyring) async -> Response {
        let reader = ChunkedRequestReader(body, keyring: keyring, limits: leg.limits)
        do {
            guard case .head(let head) = try await reader.next() else { throw InnerProblem.malformed }
            return try await answer(to: head, reader)
        } catch {
            await body.takeBack()
            return refusal(error, reader)
        }
    }

    private func answer(to head: HTTPRequest, _ reader: ChunkedRequestReader) async throws -> Response {
        guard let (encapsulatedKey, keyID) = reader.identity else { throw InnerProblem.malformed }
        let target = try leg.admit(head, encapsulatedKey: encapsulatedKey, keyID: keyID)
        let content = try await content(of: head, reader)
        let response = try await leg.send(head, to: target, body: content, isChunked: true)
        guard let sealer = reader.takeResponse() else { throw InnerProblem.malformed }
        let writer = ChunkedResponseWriter(sealer, paddingUpTo: leg.limits.messageBytes)
        return stream(response, from: target, to: writer)
    }

    /// The request's content, none when there is none: a GET with an empty body of unknown length is not to everybody's liking.
    private func content(of head: HTTPRequest, _ reader: ChunkedRequestReader) async throws -> OriginLeg.Content {
        let length = head.headerFields[.contentLength].flatMap { Int($0) }
        let mayBeEmpty = length == 0 || (length == nil && ![.post, .put, .patch].contains(head.method))
        if mayBeEmpty, try await reader.isAtContentEnd() { return .none }
        return .stream(length: length, RequestBodyStream(reader.content(holdsLast: length != nil)))
    }

    private func stream(_ response: TransportResponse, from target: TransportURL, to writer: ChunkedResponseWriter) -> Response {
        let content = ResponseBody { [leg, slot, body, eventLoop] output in
            defer { withExtendedLifetime(slot) {} }
            var pace = WritePace(eventLoop)
            do {
                try await output.write(ByteBuffer(bytes: writer.head(leg.head(of: response))))
                for try await part in response.body {
                    try await output.write(ByteBuffer(bytes: writer.body(part)))
                    try await pace.wrote(part.count)
                }
            } catch {
                _ = leg.failed(error, target)
                throw error
            }
            await body.takeBack()
            leg.metrics.count(.answered)
            try await output.write(ByteBuffer(bytes: writer.end()))
            try await output.finish(nil)
        }
        return Response(status: .ok, headers: Self.headers, body: content)
    }

    private func refusal(_ error: any Error, _ reader: ChunkedRequestReader) -> Response {
        if error is OriginLeg.Replayed {
            leg.metrics.count(.replayed)
            return .unknownKey
        }
        guard let sealer = reader.takeResponse() else {
            if error is BorrowedRequestBody.TooLong { return .problem(.contentTooLarge) }
            leg.metrics.count(.unopened)
            return .unknownKey
        }
        let problem = InnerProblem(error)
        if !(error is InnerProblem) { leg.metrics.count(.malformed) }
        do {
            let bytes = try ChunkedResponseWriter(sealer, paddingUpTo: leg.limits.messageBytes).whole(problem.response(at: leg.now))
            return Response(status: .ok, headers: Self.headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
        } catch {
            leg.sealingFailed(error)
            return .problem(.internalServerError)
        }
    }

    private static let headers: HTTPFields = [.contentType: OHTTPMediaType.chunkedResponse, .cacheControl: "no-store"]
}
