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
    /// For example, the response may consist of server-sent events:
    ///
    /// ```swift
    /// let (bytes, _) = try await client.resource("news").bytes(headers: ["Accept": "text/event-stream"])
    /// for try await event in bytes.events() { print(event.data) }
    /// ```
    ///
    /// Validators see the head alone, and the media type is not checked. If the server sends nothing for longer than the idle timeout
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
        let (request, content) = try request(method, query: query, body: body, headers: headers)
        let session = try client.connectedSession()
        let call = client.rules.call(accept: nil)
        defer { removeCached(request, method) }
        let (bytes, head) = try await session.bytes(for: request, body: content, within: AppliedRules.Scope(call: call))
        let statuses = statuses(for: request, in: call)
        if !statuses.contains(head.statusCode) {
            let beginning = try await session.beginning(of: bytes, upTo: min(client.maximumBytes, Self.refusedBytes), within: .seconds(1))
            try APIResponse(data: beginning, head: head).check(statuses: statuses)
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
    ///   - onProgress: Called with the number of bytes received so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, and the head, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response with at most
    ///   ``APIClient/maximumBytes`` of its content; `ApproovError` when the request fails or a validator refuses the response;
    ///   `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func download(
        query: QueryValue? = nil, headers: [String: String] = [:], onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        let (request, _) = try request(.get, query: query, headers: headers)
        let call = client.rules.call(accept: nil)
        let (file, head) = try await client.connectedSession().download(
            for: request, within: AppliedRules.Scope(call: call), onProgress: onProgress)
        let statuses = statuses(for: request, in: call)
        guard !statuses.contains(head.statusCode) else { return (file, head) }
        defer { try? FileManager.default.removeItem(at: file) }
        try APIResponse(data: beginning(of: file), head: head).check(statuses: statuses)
        return (file, head)
    }

    /// Downloads with a token that a later call can resume from; see `ApproovSession.download(for:resuming:onToken:onProgress:)`.
    ///
    /// - Parameters:
    ///   - token: The token of a download of this resource with the same query and headers that broke off; nil for a new download.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - headers: The request's own headers, by name.
    ///   - onToken: Called with a token from which a later call can resume; must not block.
    ///   - onProgress: Called with the number of bytes in the file so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, which has the whole content, and the head.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus` for any status but 200, 206 and, with a token,
    ///   416: it carries the response with at most ``APIClient/maximumBytes`` of its content, and the token remains valid; the errors of
    ///   `ApproovSession.download(for:resuming:onToken:onProgress:)`.
    nonisolated(nonsending) public func download(
        resuming token: ResumeToken?, query: QueryValue? = nil, headers: [String: String] = [:],
        onToken: @escaping @Sendable (ResumeToken) -> Void, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        let (request, _) = try request(.get, query: query, headers: headers)
        let call = client.rules.call(accept: nil)
        let (file, head) = try await client.connectedSession().download(
            for: request, resuming: token, within: AppliedRules.Scope(call: call), onToken: onToken, onProgress: onProgress)
        // With a token, 416 says that nothing is left to download.
        guard ![200, 206].contains(head.statusCode), head.statusCode != 416 || token == nil else { return (file, head) }
        defer { try? FileManager.default.removeItem(at: file) }
        throw APIResponse(data: try beginning(of: file), head: head).unexpectedStatus
    }

    private func beginning(of file: URL) throws -> Data {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        return try handle.read(upToCount: client.maximumBytes) ?? Data()
    }
}
