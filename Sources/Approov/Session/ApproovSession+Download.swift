public import Foundation
public import FoundationNetworking
public import HTTPClient

extension ApproovSession {
    /// Performs a request and writes the response's body to a file as it arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - onProgress: Called with how much of the body has come; must not block.
    /// - Returns: The URL of a file in the temporary folder, mode 0600, which is the caller's to move or remove; and the head.
    /// - Throws: ``ApproovError``, `bodyFailed` when the file cannot be written; `CancellationError` as soon as the task is cancelled.
    ///   Then no file is left.
    public func download(
        for request: URLRequest, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        if try isWrapped(request) {
            let (data, head) = try await wrapped.data(for: request)
            let file = try DownloadFile()
            try file.write([UInt8](data))
            return (file.keep(), head)
        }
        do {
            let performed = try await performer.perform(
                request, body: RequestBody(of: request), observation: RequestPerformer.Observation(onDownload: onProgress, isStreamed: true)
            )
            let head = try performed.head()
            let file = try DownloadFile()
            for try await part in performed.response.body { try file.write(part) }
            return (file.keep(), head)
        } catch {
            throw ApproovError.wrapping(error, isRepeatable: request.isIdempotent)
        }
    }

    /// Gets a URL and writes the response's body to a file as it arrives.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - onProgress: Called with how much of the body has come; must not block.
    /// - Returns: The URL of a file in the temporary folder, mode 0600, which is the caller's to move or remove; and the head.
    /// - Throws: ``ApproovError`` as for a request.
    public func download(
        from url: URL, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        try await download(for: URLRequest(url: url), onProgress: onProgress)
    }
}
