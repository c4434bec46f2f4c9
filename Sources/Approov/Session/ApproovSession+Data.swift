internal import ApproovBase
public import Foundation
public import FoundationNetworking
public import HTTPClient

extension ApproovSession {
    /// Performs a request and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: The request, with its body in `httpBody` or `httpBodyStream`.
    ///   - limit: The maximum size of the response's body in bytes; nil means no limit, but over Oblivious HTTP 64 MiB for a response that
    ///     is not in chunks.
    ///   - onProgress: Called with the number of body bytes received so far; must not block.
    /// - Returns: The response's body and head, whatever the status.
    /// - Throws: ``ApproovError`` with code `responseTooLarge` when the body exceeds the limit, and with other codes when the request
    ///   fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func data(
        for request: URLRequest, limit: Int? = nil, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        let observation = RequestObservation(bodyLimit: limit, onDownload: onProgress)
        return try await data(for: request, body: nil, observation: observation)
    }

    /// Performs a GET request and reads the whole response.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - limit: The maximum size of the response's body in bytes; nil means no limit, but over Oblivious HTTP 64 MiB for a response that
    ///     is not in chunks.
    ///   - onProgress: Called with the number of body bytes received so far; must not block.
    /// - Returns: The response's body and head, whatever the status.
    /// - Throws: ``ApproovError`` with code `responseTooLarge` when the body exceeds the limit, and with other codes when the request
    ///   fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func data(
        from url: URL, limit: Int? = nil, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        try await data(for: URLRequest(url: url), limit: limit, onProgress: onProgress)
    }

    /// Performs a request with a body from memory and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: The request; its own body is ignored.
    ///   - body: The body to send.
    ///   - onProgress: Called with the number of body bytes sent so far; must not block.
    /// - Returns: The response's body and head, whatever the status.
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func upload(
        for request: URLRequest, from body: Data, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        let observation = RequestObservation(onUpload: onProgress)
        return try await data(for: request, body: .bytes([UInt8](body)), observation: observation)
    }

    /// Performs a request with the content of a file as its body and reads the whole response.
    ///
    /// The session reads the file while it sends it; the file must not change during that time.
    ///
    /// - Parameters:
    ///   - request: The request; its own body is ignored.
    ///   - file: The file URL of a regular file.
    ///   - onProgress: Called with the number of body bytes sent so far; must not block.
    /// - Returns: The response's body and head, whatever the status.
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the file cannot be read, and with other codes when the request fails;
    ///   `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func upload(
        for request: URLRequest, fromFile file: URL, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        let observation = RequestObservation(onUpload: onProgress)
        return try await data(for: request, body: .file(path: Self.path(of: file)), observation: observation)
    }

    /// The path of a file to upload.
    ///
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the URL is not that of a file on this machine, or could mean another file.
    static func path(of file: URL) throws -> String {
        guard let path = file.localPath else {
            throw ApproovError(
                .bodyFailed,
                "the URL of the file to upload is not that of a file on this machine, or has %00 or %2F in its path: make it with"
                    + " URL(filePath:)")
        }
        return path
    }

    /// Performs a request with any kind of body, such as a stream, and reads the whole response.
    ///
    /// A stream is read while it is sent, once: such a request is not sent again, neither for a redirect that keeps the body nor for a
    /// retry.
    ///
    /// - Parameters:
    ///   - request: The request; its own body is ignored.
    ///   - body: The body to send; `.stream` with a length sends Content-Length, and without one, chunks or HTTP/2 frames.
    ///   - onProgress: Called with the number of body bytes sent so far; must not block.
    ///   - limit: The maximum size of the response's body in bytes; nil means no limit.
    /// - Returns: The response's body and head, whatever the status.
    /// - Throws: ``ApproovError`` with code `bodyFailed` when the body cannot be read, was read before, or does not have the length that it
    ///   declares, with code `responseTooLarge` when the response's body exceeds the limit, and with other codes when the request fails;
    ///   `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func upload(
        for request: URLRequest, body: RequestBody, onProgress: (@Sendable (TransferProgress) -> Void)? = nil, limit: Int? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        try await upload(for: request, body: body, RequestObservation(bodyLimit: limit, onUpload: onProgress))
    }

    /// Performs a request with any kind of body within a scope, and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: The request; its own body is ignored.
    ///   - body: The body to send.
    ///   - limit: The maximum size of the response's body in bytes; nil means no limit.
    ///   - scope: Surrounds the request.
    ///   - onProgress: Called with the number of body bytes sent so far; must not block.
    /// - Returns: The response's body and head, whatever the status.
    /// - Throws: The errors of ``upload(for:body:onProgress:limit:)``.
    nonisolated(nonsending) package func upload(
        for request: URLRequest, body: RequestBody, limit: Int?, within scope: any RequestScope,
        onProgress: (@Sendable (TransferProgress) -> Void)?
    ) async throws -> (Data, HTTPURLResponse) {
        var observation = RequestObservation(bodyLimit: limit, onUpload: onProgress)
        observation.scope = scope
        return try await upload(for: request, body: body, observation)
    }

    nonisolated(nonsending) private func upload(
        for request: URLRequest, body: RequestBody, _ observation: RequestObservation
    ) async throws -> (Data, HTTPURLResponse) {
        try await data(for: request, body: body, observation: observation)
    }

    /// Performs a request and reads the whole response, unless it is wiped before.
    ///
    /// Returns to the caller's actor without leaving it after the last check; see ``RequestFlight/run(_:discard:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: The body to send; nil for the request's own.
    ///   - observation: The limits and observers of the transfer.
    /// - Returns: The response's body and head.
    /// - Throws: ``ApproovError`` when the request fails; `CancellationError` when the task is cancelled or the request is wiped.
    nonisolated(nonsending) func data(
        for request: URLRequest, body: RequestBody?, observation: RequestObservation
    ) async throws -> (Data, HTTPURLResponse) {
        guard let flight = observation.flight ?? flights?.begin(request) else {
            return try await collect(request, body, observation)
        }
        var observation = observation
        observation.flight = flight
        guard performer.stations.cancelsWaits else {
            return try await flight.run { [self, observation] in try await collect(request, body, observation) }
        }
        observation.cancelsWaits = true
        try flight.check()
        try Task.checkCancellation()
        defer { flight.detach() }
        do {
            let result = try await collect(request, body, observation)
            try flight.check()
            return result
        } catch {
            try flight.check()
            throw error
        }
    }

    private func collect(
        _ request: URLRequest, _ body: RequestBody?, _ observation: RequestObservation
    ) async throws -> (Data, HTTPURLResponse) {
        let (request, body) = request.sending(body)
        if try isWrapped(request, isAdmitted: observation.isAdmitted) {
            return try await observation.waiting { [self, limit = observation.bodyLimit] in
                try await wrappedData(for: await request.carrying(body), limit: limit)
            }
        }
        let observation = observed(request, observation)
        do {
            let sent = try await performer.perform(request, body: body, observation: observation)
            defer { sent.ticket?.end() }
            let bytes = try await sent.body(upTo: observation.bodyLimit)
            let head = try performer.head(of: sent)
            observation.call?.finish(received: bytes.count)
            return (Data(bytes), head)
        } catch {
            let error = error.asApproovError()
            observation.call?.fail(error)
            throw error
        }
    }

    /// Has the wrapped session perform a request, and validates its response.
    ///
    /// Foundation ends no task whose protocol class does not answer, so the session's own total timeout applies.
    func wrappedData(for request: URLRequest, limit: Int? = nil, isStreamed: Bool = false) async throws -> (Data, HTTPURLResponse) {
        let deadline = RequestDeadline(after: performer.totalTimeout, on: performer.time)
        let (data, head) = try await deadline.limit { [wrapped] in try await wrapped.data(for: request, limit: limit) }
        let validation = performer.stations.validation
        if !validation.isOff { try validation.validate(head, isStreamed ? nil : data) }
        return (data, head)
    }
}
