public import Approov
public import Foundation
public import FoundationNetworking
public import HTTPClient
public import HTTPTypes

extension Resource {
    /// The most bytes to read of a stream with a status that is not accepted.
    private static let refusedBytes = 64 << 10

    /// Sends a request, and returns the content of the response as it arrives.
    ///
    /// ```swift
    /// let (bytes, _) = try await client.resource("log").bytes()
    /// for try await line in bytes.lines { print(line) }
    /// ```
    ///
    /// Validators see the head alone, and the media type is not checked. For server-sent events there is
    /// ``events(_:query:body:headers:upTo:)``. If the server sends nothing for longer than the idle timeout
    /// (``APIClient/timeout``), the stream fails: raise it for a quiet one.
    ///
    /// - Parameters:
    ///   - method: The method; GET by default.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - headers: The request's own headers, by name.
    /// - Returns: The content and the head, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response with what comes
    ///   of its content within a second, at most 64 KiB; `ApproovError` when the request fails or a validator refuses the response;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func bytes(
        _ method: HTTPRequest.Method = .get, query: QueryValue? = nil, body: (any BodySerializer)? = nil, headers: [String: String] = [:]
    ) async throws -> (ApproovBytes, HTTPURLResponse) {
        try await stream(method, query: query, body: body, headers: headers, accept: nil, mediaTypes: [])
    }

    /// Sends a request, and returns the server-sent events of the response as they arrive.
    ///
    /// ```swift
    /// let (events, _) = try await client.resource("news").events()
    /// for try await event in events { print(event.data) }
    /// ```
    ///
    /// The request has the header `Accept: text/event-stream`, unless it, the client or a rule has its own. Validators see the head alone.
    /// The caller decides about connecting again. See ``bytes(_:query:body:headers:)`` for a quiet stream.
    ///
    /// - Parameters:
    ///   - method: The method; GET by default.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - headers: The request's own headers, by name, such as `Last-Event-ID`.
    ///   - limit: The most bytes of one event; 1 MiB by default.
    /// - Returns: The events and the head, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` with code `unexpectedMediaType` when the response has another media type than text/event-stream, which
    ///   carries the response as with `unexpectedStatus`; the errors of ``bytes(_:query:body:headers:)``.
    nonisolated(nonsending) public func events(
        _ method: HTTPRequest.Method = .get, query: QueryValue? = nil, body: (any BodySerializer)? = nil, headers: [String: String] = [:],
        upTo limit: Int = 1 << 20
    ) async throws -> (ServerSentEvents, HTTPURLResponse) {
        let type = "text/event-stream"
        let (bytes, head) = try await stream(method, query: query, body: body, headers: headers, accept: type, mediaTypes: [type])
        return (bytes.events(upTo: limit), head)
    }

    /// Sends a request, and returns the content of a response with an accepted status and media type as it arrives.
    nonisolated(nonsending) private func stream(
        _ method: HTTPRequest.Method, query: QueryValue?, body: (any BodySerializer)?, headers: [String: String], accept: String?,
        mediaTypes: [String]
    ) async throws -> (ApproovBytes, HTTPURLResponse) {
        let (request, content, call) = try prepared(method, query: query, body: body, headers: headers, accept: accept)
        let session = try client.connectedSession()
        defer { removeCached(request, method) }
        let (bytes, head) = try await session.bytes(for: request, body: content, within: AppliedRules.Scope(call: call))
        func check(_ response: APIResponse) throws {
            try response.check(statuses: statuses(for: request, in: call))
            try response.check(mediaTypes: mediaTypes)
        }
        do {
            try check(APIResponse(data: Data(), head: head))
        } catch {
            let beginning = try await session.beginning(of: bytes, upTo: min(client.maximumBytes, Self.refusedBytes), within: .seconds(1))
            try check(APIResponse(data: beginning, head: head))
        }
        return (bytes, head)
    }

    /// Sends a GET request, and writes the content of the response to a file as it arrives.
    ///
    /// The caller must move or remove the file. When the download fails, no file is left behind. Validators see the head alone.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - headers: The request's own headers, by name.
    ///   - limit: The most bytes of the content; nil, the default, for no limit.
    ///   - onProgress: Called with the number of bytes received so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, and the head, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response with at most
    ///   ``APIClient/maximumBytes`` of its content; `ApproovError` with code `responseTooLarge` when the content exceeds the limit, and
    ///   with other codes when the request fails or a validator refuses the response; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func download(
        query: QueryValue? = nil, headers: [String: String] = [:], upTo limit: Int? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        let (request, _, call) = try prepared(.get, query: query, body: nil, headers: headers)
        // The session cuts off what is too long, so one byte more tells.
        let bound = limit.map { min(max(0, $0), Int.max - 1) + 1 }
        let (file, head) = try await client.connectedSession().download(
            for: request, within: AppliedRules.Scope(call: call),
            limit: { self.statuses(for: request, in: call).contains($0) ? bound : client.maximumBytes }, onProgress: onProgress)
        let statuses = statuses(for: request, in: call)
        guard !statuses.contains(head.statusCode) else {
            try Self.check(file, upTo: limit)
            return (file, head)
        }
        defer { try? FileManager.default.removeItem(at: file) }
        try APIResponse(data: beginning(of: file), head: head).check(statuses: statuses)
        return (file, head)
    }

    /// Downloads with a token that a later call can resume from; see `ApproovSession.download(for:resuming:onToken:onProgress:)`.
    ///
    /// The size of the content has no limit. To give up, cancel the task when `onProgress` reports too many bytes.
    ///
    /// - Parameters:
    ///   - token: The token of a download of this resource with the same query and headers that broke off; nil for a new download.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - headers: The request's own headers, by name.
    ///   - onToken: Called with a token from which a later call can resume; must not block.
    ///   - onProgress: Called with the number of bytes in the file so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, which has the whole content, and the head.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus` for any status but 200, 206 and, with a
    ///   token, 416: it carries the response with at most ``APIClient/maximumBytes`` of its content, and the token remains valid; the
    ///   errors of `ApproovSession.download(for:resuming:onToken:onProgress:)`.
    nonisolated(nonsending) public func download(
        resuming token: ResumeToken?, query: QueryValue? = nil, headers: [String: String] = [:],
        onToken: @escaping @Sendable (ResumeToken) -> Void, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        let (request, _, call) = try prepared(.get, query: query, body: nil, headers: headers)
        let (file, head) = try await client.connectedSession().download(
            for: request, resuming: token, within: AppliedRules.Scope(call: call), otherLimit: client.maximumBytes, onToken: onToken,
            onProgress: onProgress)
        // With a token, 416 says that nothing is left to download.
        guard ![200, 206].contains(head.statusCode), head.statusCode != 416 || token == nil else { return (file, head) }
        defer { try? FileManager.default.removeItem(at: file) }
        throw APIResponse(data: try beginning(of: file), head: head).unexpectedStatus
    }

    /// Refuses and removes a file that is larger than the limit.
    private static func check(_ file: URL, upTo limit: Int?) throws {
        guard let limit else { return }
        do {
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            guard try handle.seekToEnd() <= UInt64(max(0, limit)) else {
                throw ApproovError(.responseTooLarge, "the download is larger than the \(limit) bytes allowed: raise the limit")
            }
        } catch {
            try? FileManager.default.removeItem(at: file)
            throw error
        }
    }

    private func beginning(of file: URL) throws -> Data {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        return try handle.read(upToCount: client.maximumBytes) ?? Data()
    }
}
