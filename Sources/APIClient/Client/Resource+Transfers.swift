public import Approov
public import Foundation
public import FoundationNetworking
public import HTTPClient
public import HTTPTypes

extension Resource {
    /// Sends a request, and returns the content of the response as it arrives, such as server-sent events.
    ///
    /// - Parameters:
    ///   - method: The method; GET by default.
    ///   - query: The parameters in the URL: a dictionary.
    ///   - body: The content; nil for none.
    ///   - headers: The request's own headers, by name.
    /// - Returns: The content and the head, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response;
    ///   `ApproovError` when the request fails, or with code `responseTooLarge` when a response with another status is larger than
    ///   ``APIClient/maximumBytes``; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func bytes(
        _ method: HTTPRequest.Method = .get, query: QueryValue? = nil, body: (any BodySerializer)? = nil, headers: [String: String] = [:]
    ) async throws -> (ApproovBytes, HTTPURLResponse) {
        let (request, content) = try request(method, query: query, body: body, headers: headers)
        defer { removeCached(request, method) }
        let (bytes, head) = try await client.connectedSession().bytes(for: request, body: content)
        let statuses = statuses(for: request, in: nil)
        if !statuses.contains(head.statusCode) {
            try APIResponse(data: try await bytes.data(upTo: client.maximumBytes), head: head).check(statuses: statuses)
        }
        return (bytes, head)
    }

    /// Sends a GET request, and writes the content of the response to a file as it arrives.
    ///
    /// The caller must move or remove the file. When the download fails, no file is left behind.
    ///
    /// - Parameters:
    ///   - query: The parameters in the URL: a dictionary.
    ///   - headers: The request's own headers, by name.
    ///   - onProgress: Called with the number of bytes received so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, and the head, whose status the client or a rule accepts.
    /// - Throws: ``APIError`` when the request cannot be built, or with code `unexpectedStatus`, which carries the response with at most
    ///   ``APIClient/maximumBytes`` of its content; `ApproovError` when the request fails; `CancellationError` when the task is cancelled.
    nonisolated(nonsending) public func download(
        query: QueryValue? = nil, headers: [String: String] = [:], onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        let (request, _) = try request(.get, query: query, headers: headers)
        let (file, head) = try await client.connectedSession().download(for: request, onProgress: onProgress)
        let statuses = statuses(for: request, in: nil)
        if !statuses.contains(head.statusCode) {
            defer { try? FileManager.default.removeItem(at: file) }
            let handle = try FileHandle(forReadingFrom: file)
            defer { try? handle.close() }
            try APIResponse(data: try handle.read(upToCount: client.maximumBytes) ?? Data(), head: head).check(statuses: statuses)
        }
        return (file, head)
    }
}
