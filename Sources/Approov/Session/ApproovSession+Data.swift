public import Foundation
public import FoundationNetworking
public import HTTPClient

extension ApproovSession {
    /// Performs a request and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: The request, with its body in `httpBody` or `httpBodyStream`.
    ///   - limit: The most bytes the response's body may have; nil: as many as come.
    /// - Returns: Body and head of the response, whatever its status.
    /// - Throws: ``ApproovError``; `CancellationError` as soon as the task is cancelled.
    public func data(for request: URLRequest, limit: Int? = nil) async throws -> (Data, HTTPURLResponse) {
        let observation = RequestPerformer.Observation(bodyLimit: limit)
        return try await data(for: request, body: RequestBody(of: request), observation: observation)
    }

    /// Gets a URL and reads the whole response.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - limit: The most bytes the response's body may have; nil: as many as come.
    /// - Returns: Body and head of the response, whatever its status.
    /// - Throws: ``ApproovError``; `CancellationError` as soon as the task is cancelled.
    public func data(from url: URL, limit: Int? = nil) async throws -> (Data, HTTPURLResponse) {
        try await data(for: URLRequest(url: url), limit: limit)
    }

    /// Performs a request with a body from memory and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: The request; a body of its own is not sent.
    ///   - body: The body.
    ///   - onProgress: Called with how much of the body has been sent; must not block.
    /// - Returns: Body and head of the response, whatever its status.
    /// - Throws: ``ApproovError``; `CancellationError` as soon as the task is cancelled.
    public func upload(
        for request: URLRequest, from body: Data, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        let observation = RequestPerformer.Observation(onUpload: onProgress)
        return try await data(for: request, body: .bytes([UInt8](body)), observation: observation)
    }

    /// Performs a request with the content of a file as its body and reads the whole response.
    ///
    /// The file is read while it is sent; it must not change meanwhile.
    ///
    /// - Parameters:
    ///   - request: The request; a body of its own is not sent.
    ///   - file: The URL of a regular file.
    ///   - onProgress: Called with how much of the body has been sent; must not block.
    /// - Returns: Body and head of the response, whatever its status.
    /// - Throws: ``ApproovError``, `bodyFailed` when the file cannot be read; `CancellationError` as soon as the task is cancelled.
    public func upload(
        for request: URLRequest, fromFile file: URL, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        guard file.isFileURL else { throw ApproovError(.bodyFailed, "a body is uploaded from a file: give a file URL") }
        let observation = RequestPerformer.Observation(onUpload: onProgress)
        return try await data(for: request, body: .file(path: file.path(percentEncoded: false)), observation: observation)
    }

    func data(
        for request: URLRequest, body: RequestBody, observation: RequestPerformer.Observation
    ) async throws -> (Data, HTTPURLResponse) {
        if try isWrapped(request) { return try await wrapped.data(for: request.carrying(body), limit: observation.bodyLimit) }
        do {
            let performed = try await performer.perform(request, body: body, observation: observation)
            let bytes = try await performed.response.body.collect(upTo: observation.bodyLimit ?? .max)
            return (Data(bytes), try performed.head())
        } catch {
            throw ApproovError.wrapping(error, isRepeatable: request.isIdempotent)
        }
    }
}

extension URLRequest {
    /// The request with its body where a protocol class finds it.
    ///
    /// - Throws: ``ApproovError`` `bodyFailed` when a file cannot be read.
    func carrying(_ body: RequestBody) throws -> URLRequest {
        var request = self
        switch body {
        case .bytes(let bytes): request.httpBody = Data(bytes)
        case .file(let path):
            do {
                request.httpBody = try Data(contentsOf: URL(filePath: path))
            } catch {
                throw ApproovError(.bodyFailed, "the file to upload cannot be read", cause: error)
            }
        case .none, .stream: break
        }
        return request
    }
}
