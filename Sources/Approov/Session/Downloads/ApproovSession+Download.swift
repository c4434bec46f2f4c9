public import Foundation
public import FoundationNetworking
public import HTTPClient

extension ApproovSession {
    /// Performs a request and writes the response's body to a file as it arrives.
    ///
    /// The caller must move or remove the file. When the download fails, no file is left behind.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - onProgress: Called with the number of body bytes received so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, and the response's head.
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the file cannot be written, and with other codes when the request fails;
    ///   `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func download(
        for request: URLRequest, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        try await download(for: request, observation: RequestObservation(onDownload: onProgress, isStreamed: true), limit: nil)
    }

    /// Performs a request within a scope and writes the response's body to a file as it arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - scope: Surrounds the request.
    ///   - limit: Returns the most bytes of the body to read of a response with a status; nil for the whole body.
    ///   - onProgress: Called with the number of body bytes received so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, and the response's head.
    /// - Throws: The errors of ``download(for:onProgress:)``.
    nonisolated(nonsending) package func download(
        for request: URLRequest, within scope: any RequestScope, limit: @escaping @Sendable (Int) -> Int?,
        onProgress: (@Sendable (TransferProgress) -> Void)?
    ) async throws -> (URL, HTTPURLResponse) {
        let observation = RequestObservation(onDownload: onProgress, isStreamed: true, scope: scope)
        return try await download(for: request, observation: observation, limit: limit)
    }

    nonisolated(nonsending) func download(
        for request: URLRequest, observation: RequestObservation, limit: (@Sendable (Int) -> Int?)?
    ) async throws -> (URL, HTTPURLResponse) {
        guard let flight = observation.flight ?? flights?.begin(request) else { return try await save(request, observation, limit) }
        var observation = observation
        observation.flight = flight
        return try await flight.run { [self, observation] in
            try await save(request, observation, limit)
        } discard: {
            try? FileManager.default.removeItem(at: $0.0)
        }
    }

    private func save(
        _ request: URLRequest, _ observation: RequestObservation, _ limit: (@Sendable (Int) -> Int?)?
    ) async throws -> (URL, HTTPURLResponse) {
        if try isWrapped(request, isAdmitted: observation.isAdmitted) {
            let (data, head) = try await wrappedData(for: request, isStreamed: true)
            var file = try DownloadFile()
            try file.write([UInt8](data))
            return (file.keep(), head)
        }
        let observation = observed(request, observation)
        do {
            let sent = try await performer.perform(request, body: RequestBody(of: request), observation: observation)
            let head = try performer.head(of: sent)
            var file = try DownloadFile()
            do {
                try await file.write(sent.response.body, upTo: limit?(head.statusCode))
            } catch {
                throw error.asApproovError(isRepeatable: sent.isIdempotent)
            }
            observation.call?.finish(received: file.size)
            return (file.keep(), head)
        } catch {
            let error = error.asApproovError()
            observation.call?.fail(error)
            throw error
        }
    }

    /// Performs a GET request and writes the response's body to a file as it arrives.
    ///
    /// The caller must move or remove the file. When the download fails, no file is left behind.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - onProgress: Called with the number of body bytes received so far; must not block.
    /// - Returns: The URL of a file with mode 0600 in the temporary folder, and the response's head.
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the file cannot be written, and with other codes when the request fails;
    ///   `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func download(
        from url: URL, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        try await download(for: URLRequest(url: url), onProgress: onProgress)
    }
}
