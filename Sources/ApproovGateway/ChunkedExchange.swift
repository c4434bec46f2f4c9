internal import Foundation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import OHTTP

/// One request that is encapsulated in chunks (draft-ietf-ohai-chunked-ohttp), and its response: both are forwarded as they come.
struct ChunkedExchange: Sendable {
    let forwarder: OriginForwarder
    let slot: GatewayLoad.Slot
    let body: BorrowedRequestBody
    let eventLoop: any EventLoop
    /// When the answer must have ended.
    let deadline: ContinuousClock.Instant

    /// Opens the request, forwards it and seals what comes back.
    ///
    /// What fails before a first chunk could be opened is answered outside of encapsulation, in one way unless a chunk was too large, which
    /// everybody on the way sees; what fails later is
    /// answered inside; and what fails after an answer has begun to go out breaks that off, which the client notices by its missing last chunk.
    /// - Parameter keys: those that are accepted
    /// - Returns: the answer for the relay
    func answer(with keys: KeyWatch) async -> Response {
        let reader = ChunkedRequestReader(body, keyring: keys.current.keyring, limits: forwarder.limits)
        do {
            guard case .head(let head) = try await reader.next() else { throw InnerProblem.malformed }
            return try await answer(to: head, reader)
        } catch {
            return await refusal(error, reader)
        }
    }

    private func answer(to head: HTTPRequest, _ reader: ChunkedRequestReader) async throws -> Response {
        guard let (encapsulatedKey, keyID) = reader.identity else { throw InnerProblem.malformed }
        let target = try forwarder.admit(head, encapsulatedKey: encapsulatedKey, keyID: keyID)
        let content = try await content(of: head, reader)
        let response = try await forwarder.send(head, to: target, body: content, isChunked: true, until: deadline)
        guard let sealer = reader.takeResponse() else { throw InnerProblem.malformed }
        return stream(response, from: target, to: ChunkedResponseWriter(sealer))
    }

    /// The request's content, none when there is none: a GET with an empty body of unknown length is not to everybody's liking.
    private func content(of head: HTTPRequest, _ reader: ChunkedRequestReader) async throws -> OriginForwarder.Content {
        let length = head.headerFields[.contentLength].flatMap { Int($0) }
        let mayBeEmpty = length == 0 || (length == nil && ![.post, .put, .patch].contains(head.method))
        if mayBeEmpty, try await reader.isAtContentEnd() { return .none }
        return .stream(length: length, RequestBodyStream(reader.content(holdsLast: length != nil)))
    }

    private func stream(_ response: TransportResponse, from target: TransportURL, to writer: ChunkedResponseWriter) -> Response {
        let content = ResponseBody { [forwarder, slot, body, eventLoop] output in
            defer { withExtendedLifetime(slot) {} }
            var backpressure = WriteBackpressure(eventLoop)
            var trailers = HTTPFields()
            func send(_ bytes: [UInt8]) async throws {
                guard !bytes.isEmpty else { return }
                try await output.write(ByteBuffer(bytes: bytes))
                try await backpressure.wrote(bytes.count)
            }
            do {
                try await send(writer.head(forwarder.head(of: response)))
                if Self.isShort(response) {
                    for try await part in response.body { try await send(writer.body(part)) }
                } else {
                    let parts = response.body.makeAsyncIterator()
                    let next: @Sendable () async throws -> [UInt8]? = {
                        var parts = parts
                        return try await parts.next()
                    }
                    try await BodyPause(forwarder.holdBack).forEach(next, holding: writer.holding) { event in
                        switch event {
                        case .part(let part): try await send(writer.body(part))
                        case .pause: try await send(writer.pause())
                        }
                        return writer.holding
                    }
                }
                trailers = forwarder.trailers(of: response)
                forwarder.metrics.count(.answered)
            } catch {
                let problem = forwarder.failed(error, target)
                guard writer.begin(anew: problem.response(at: forwarder.now)) else { throw error }
            }
            while let bytes = try writer.end(trailers: trailers) { try await send(bytes) }
            try await output.finish(nil)
            await body.drain()
        }
        return Response(status: .ok, headers: Self.headers, body: content)
    }

    /// Whether a response is announced to be less than a chunk: nobody gains by a part of it.
    private static func isShort(_ response: TransportResponse) -> Bool {
        response.headerFields[.contentLength].flatMap { Int($0) }.map { $0 <= 8 << 10 } ?? false
    }

    private func refusal(_ error: any Error, _ reader: ChunkedRequestReader) async -> Response {
        guard !(error is OriginForwarder.Replayed), let sealer = reader.takeResponse() else {
            await body.takeBack()
            return outside(error, unknownKeyID: reader.unknownKeyID)
        }
        let problem = InnerProblem(error)
        if reader.isQuestion {
            forwarder.metrics.count(.question)
        } else if !(error is InnerProblem) {
            forwarder.metrics.count(OriginForwarder.isOfClient(error) ? .abandoned : .malformed)
        }
        let bytes: [UInt8]
        do {
            bytes = try ChunkedResponseWriter(sealer).whole(problem.response(at: forwarder.now))
        } catch {
            forwarder.sealingFailed(error)
            await body.takeBack()
            return .problem(.internalServerError)
        }
        // Without a length, as other answers are: its form does not tell the relay whose it is.
        let content = ResponseBody { [slot, body] output in
            defer { withExtendedLifetime(slot) {} }
            try await output.write(ByteBuffer(bytes: bytes))
            try await output.finish(nil)
            await body.drain()
        }
        return Response(status: .ok, headers: Self.headers, body: content)
    }

    /// The answer to what could not be opened, or is not to be.
    private func outside(_ error: any Error, unknownKeyID: UInt8?) -> Response {
        if error is OriginForwarder.Replayed {
            forwarder.metrics.count(.replayed)
            return .unknownKey
        }
        if error is BorrowedRequestBody.TooLong || error is BorrowedRequestBody.Stalled { return forwarder.unread(error) }
        if error is ChunkedRequestReader.ChunkTooLarge {
            forwarder.metrics.count(.refused)
            return .problem(.contentTooLarge, InnerProblem.chunkTooLarge.json)
        }
        if OriginForwarder.isOfClient(error) {
            forwarder.metrics.count(.abandoned)
        } else {
            forwarder.unopened(namedKey: unknownKeyID)
        }
        return .unknownKey
    }

    private static let headers: HTTPFields = {
        var fields = OHTTPMediaType.chunkedFields(OHTTPMediaType.chunkedResponse)
        fields[.cacheControl] = "no-store"
        return fields
    }()
}
