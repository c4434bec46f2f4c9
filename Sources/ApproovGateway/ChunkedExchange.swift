internal import ApproovBase
internal import Foundation
internal import HTTPServing
internal import HTTPClient
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import OHTTP

/// One request encapsulated in chunks (draft-ietf-ohai-chunked-ohttp), and its response; both are forwarded as they arrive.
struct ChunkedExchange: Sendable {
    /// The announced length up to which a response is not sent in parts, in bytes: less than a chunk.
    private static let shortBytes = 8 << 10

    let forwarder: OriginForwarder
    let slot: RequestSlot
    let body: BorrowedRequestBody
    let eventLoop: any EventLoop
    /// The time by which the response must be complete.
    let deadline: ContinuousClock.Instant

    /// Opens the request, forwards it and seals the response.
    ///
    /// How a failure is reported depends on when it happens:
    /// - Before the first chunk is opened, the gateway answers without encapsulation. All answers are the same except for what
    ///   intermediaries see anyway: a request or chunk that is too large, or a request that stalled. A replayed request gets that same
    ///   answer.
    /// - After that, and before any byte of the response is sent, the gateway answers inside of the encapsulation.
    /// - Once response bytes are sent, the gateway aborts the response. The client notices because the last chunk is missing.
    ///
    /// - Parameter keys: The keys that the gateway accepts.
    /// - Returns: The response to the relay.
    func answer(with keys: ReloadingKeyring) async -> Response {
        let keys = keys.current
        let reader = ChunkedRequestReader(body, keyring: keys.keyring, limits: forwarder.limits)
        do {
            guard case .head(let head) = try await reader.next() else { throw InnerProblem.malformed }
            return try await answer(to: head, reader, keys)
        } catch {
            return await refusal(error, reader)
        }
    }

    private func answer(to head: HTTPRequest, _ reader: ChunkedRequestReader, _ keys: ReloadingKeyring.Current) async throws -> Response {
        guard let (encapsulatedKey, keyID) = reader.identity, let key = keys.identities[keyID] else { throw InnerProblem.malformed }
        let target = try forwarder.admit(head, encapsulatedKey: encapsulatedKey, key: key)
        let content = try await content(of: head, reader)
        // Not earlier, because a request that arrives byte by byte must not keep its place until it is forwarded.
        body.liftDeadline()
        let response = try await forwarder.send(head, to: target, body: content, isChunked: true, until: deadline)
        guard let sealer = reader.takeResponse() else { throw InnerProblem.malformed }
        return stream(response, from: target, to: ChunkedResponseWriter(sealer))
    }

    /// The request's content, or `.none` if it is empty: some origins reject a GET that has an empty body of unknown length.
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
                guard writer.begin(again: forwarder.response(to: problem)) else { throw error }
            }
            while let bytes = try writer.end(trailers: trailers) { try await send(bytes) }
            try await output.finish(nil)
            // The rest of the request needs no place.
            slot.release()
            await body.drain()
        }
        return Response(status: .ok, headers: Self.headers, body: content)
    }

    /// Whether the announced length is so short that sending a part of it early would help no client.
    private static func isShort(_ response: TransportResponse) -> Bool {
        response.headerFields[.contentLength].flatMap { Int($0) }.map { $0 <= shortBytes } ?? false
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
            bytes = try ChunkedResponseWriter(sealer).whole(forwarder.response(to: problem))
        } catch {
            forwarder.sealingFailed(error)
            await body.takeBack()
            return .problem(.internalServerError)
        }
        // No Content-Length, as for other responses: otherwise the relay could recognise the gateway's own responses.
        let content = ResponseBody { [slot, body] output in
            defer { withExtendedLifetime(slot) {} }
            try await output.write(ByteBuffer(bytes: bytes))
            try await output.finish(nil)
            // A client that keeps sending reads the response only after it has sent everything. That may take long, but needs no place.
            slot.release()
            body.liftDeadline()
            await body.drain()
        }
        return Response(status: .ok, headers: Self.headers, body: content)
    }

    /// The unencapsulated answer to a request that was replayed or could not be opened.
    private func outside(_ error: any Error, unknownKeyID: UInt8?) -> Response {
        if error is OriginForwarder.Replayed {
            forwarder.metrics.count(.replayed)
            return .unknownKey
        }
        if error is BorrowedRequestBody.TooLong || error is BorrowedRequestBody.Stalled { return forwarder.unread(error) }
        if error is ChunkedRequestReader.ChunkTooLarge {
            forwarder.metrics.count(.refused)
            return .problem(InnerProblem.chunkTooLarge.details)
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
