public import Foundation
public import FoundationNetworking
public import HTTPClient
internal import Synchronization

extension ApproovSession {
    /// Downloads to a file, and can go on where an earlier download was interrupted.
    ///
    /// The request must be a GET. If the server gives a strong ETag, the download can be resumed: `onToken` gets a token when the content
    /// begins, whenever another 64 MiB are on the disk, and when the download is interrupted by a failure or by cancellation. Store the
    /// newest token, and pass it with the same request to go on. The session then asks for the rest on condition that the ETag still holds
    /// (Range and If-Range; RFC 9110, sections 14.2 and 13.1.5). If it does not hold, or a redirect leads to another server, the download
    /// begins again.
    ///
    /// If a download was interrupted after its last byte, nothing remains to fetch. The server then answers with status 416 and the size of
    /// the content: if the ETag still holds and the file has that size, the file is complete, and the caller gets it with the head of that
    /// response.
    ///
    /// The caller must move or remove the file of a finished download, and the file of a token that is not used. If the session wipes the
    /// request (``ApproovSession/wipe(_:)``), the file is removed, and `onToken` gets no further token.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - token: The newest token of the interrupted download; nil to begin.
    ///   - onToken: Called with each token, in their order; must not block for long.
    ///   - onProgress: Called with the number of bytes in the file so far; must not block.
    /// - Returns: The URL of a file with mode 0600, and the response's head. The file is the content if the status is 200, 206 or, with a
    ///   token, 416. A response with another status is written to a separate file, and the token remains valid.
    /// - Throws: ``ApproovError`` with code `badRequest` when the request is no plain GET or does not fit the token, with code `bodyFailed`
    ///   when the file is missing, is not a file that a download made, is open in another download, or cannot be written, with code
    ///   `permanentError` when the server reports that there is no rest (416) and the file is not the content, which removes the file, and
    ///   with other codes when the request fails; `CancellationError` as soon as the task is cancelled.
    nonisolated(nonsending) public func download(
        for request: URLRequest, resuming token: ResumeToken?, onToken: (@Sendable (ResumeToken) -> Void)? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> (URL, HTTPURLResponse) {
        try await download(for: request, resuming: token, within: nil, otherLimit: nil, onToken: onToken, onProgress: onProgress)
    }

    /// Performs a request within a scope, like ``download(for:resuming:onToken:onProgress:)``.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - token: The token of the download that broke off; nil for a new download.
    ///   - scope: Surrounds the request; nil for none.
    ///   - otherLimit: The most bytes to read of a response with another status than 200, 206 and 416; nil for the whole body.
    ///   - onToken: Called with a token from which a later call can resume; must not block.
    ///   - onProgress: Called with the number of bytes in the file so far; must not block.
    /// - Returns: The URL of a file with mode 0600, and the response's head.
    /// - Throws: The errors of ``download(for:resuming:onToken:onProgress:)``.
    nonisolated(nonsending) package func download(
        for request: URLRequest, resuming token: ResumeToken?, within scope: (any RequestScope)?, otherLimit: Int?,
        onToken: (@Sendable (ResumeToken) -> Void)?, onProgress: (@Sendable (TransferProgress) -> Void)?
    ) async throws -> (URL, HTTPURLResponse) {
        guard let flight = flights?.begin(request) else {
            return try await resume(request, token, scope, otherLimit, onToken, onProgress, nil)
        }
        /// The file of the newest token.
        let newest = Mutex(token?.file)
        let noting = onToken.map { onToken in
            { @Sendable (token: ResumeToken) in
                newest.withLock { $0 = token.file }
                onToken(token)
            }
        }
        do {
            return try await flight.run { [self] in
                try await resume(request, token, scope, otherLimit, noting, onProgress, flight)
            } discard: {
                try? FileManager.default.removeItem(at: $0.0)
            }
        } catch {
            // Also if the request was wiped before the download opened the file, or after it had failed.
            if flight.isWiped { for file in Set([token?.file, newest.withLock { $0 }].compactMap(\.self)) { DownloadFile.remove(file) } }
            throw error
        }
    }

    private func resume(
        _ request: URLRequest, _ token: ResumeToken?, _ scope: (any RequestScope)?, _ otherLimit: Int?,
        _ onToken: (@Sendable (ResumeToken) -> Void)?, _ onProgress: (@Sendable (TransferProgress) -> Void)?, _ flight: RequestFlight?
    ) async throws -> (URL, HTTPURLResponse) {
        if try isWrapped(request) {
            throw ApproovError(
                .unsupported, "the wrapped session performs this request, and it cannot resume: use download(for:) without a token")
        }
        // Admitted above, so that the second attempt goes on although the session takes no further request.
        let observation = observed(
            request,
            RequestObservation(isStreamed: true, isResuming: token != nil, flight: flight, isAdmitted: true, scope: scope))
        do {
            // At most one more attempt, which asks for the whole content.
            guard let result = try await download(request, token, otherLimit, onToken, onProgress, observation) else {
                let restarted = token.map(Self.restarted)
                guard let fresh = try await download(request, restarted, otherLimit, onToken, onProgress, observation) else {
                    throw ApproovError(.networkingError, "the server sent a part of the content that was not requested; try again later")
                }
                return fresh
            }
            return result
        } catch {
            let error = error.asApproovError(isRepeatable: true)
            observation.call?.fail(error)
            throw error
        }
    }

    /// The token with its file, but none of its bytes.
    private static func restarted(_ token: ResumeToken) -> ResumeToken {
        var token = token
        token.offset = 0
        return token
    }

    /// Makes one attempt; nil when the answer is a part that was not requested.
    ///
    /// A request that is wiped leaves no file, not even that of the token, which is the same user's.
    private func download(
        _ request: URLRequest, _ token: ResumeToken?, _ otherLimit: Int?, _ onToken: (@Sendable (ResumeToken) -> Void)?,
        _ onProgress: (@Sendable (TransferProgress) -> Void)?, _ observation: RequestObservation
    ) async throws -> (URL, HTTPURLResponse)? {
        let prepared = try ResumableDownload.prepare(request, resuming: token)
        // Before anything is sent, so that a token that cannot be used costs nothing.
        var file = try token.map { try DownloadFile(resuming: $0.file, size: $0.offset) } ?? DownloadFile()
        do {
            switch try await fill(&file, request, prepared, token, otherLimit, onToken, onProgress, observation) {
            case .content(let head): return (file.keep(), head)
            case .other(let url, let head): return (url, head)
            case .foreign: return nil
            }
        } catch {
            if observation.flight?.isWiped == true { file.discard() }
            throw error
        }
    }

    /// What an attempt brought.
    private enum Filled {
        /// The content is in the download's file.
        case content(HTTPURLResponse)
        /// Something else, such as an error, is in a separate file.
        case other(URL, HTTPURLResponse)
        /// A part that was not requested.
        case foreign
    }

    private func fill(
        _ file: inout DownloadFile, _ request: URLRequest, _ prepared: URLRequest, _ token: ResumeToken?, _ otherLimit: Int?,
        _ onToken: (@Sendable (ResumeToken) -> Void)?, _ onProgress: (@Sendable (TransferProgress) -> Void)?,
        _ observation: RequestObservation
    ) async throws -> Filled {
        let sent = try await performer.perform(prepared, body: .none, observation: observation)
        let head = try performer.head(of: sent)
        var current = token
        let size: Int?
        switch ResumableDownload.answer(sent.response, to: token) {
        case .rest(let announced):
            size = announced
            try file.cut(to: file.size)
        case .whole(let announced):
            size = announced
            current = ResumableDownload.token(for: request, sent.response, file: file.url)
            if let token, current?.etag != token.etag || current?.origin != token.origin {
                // Not into the token's file: if this attempt is interrupted, the token would take these bytes for its own.
                file.discard()
                file = try DownloadFile()
                current = ResumableDownload.token(for: request, sent.response, file: file.url)
            }
            try file.cut(to: 0)
        case .foreign: return .foreign
        case .complete where file.isExact:
            try observation.flight?.check()
            onProgress?(TransferProgress(completed: file.size, total: file.size))
            observation.call?.finish(received: 0)
            return .content(head)
        case .complete, .noRest:
            file.discard()
            throw ApproovError(
                .permanentError, "the server reports that there is no rest of the download (416): download again without the token")
        case .other:
            var other = try DownloadFile()
            try await other.write(sent.response.body, upTo: otherLimit)
            try observation.flight?.check()
            observation.call?.finish(received: other.size)
            return .other(other.keep(), head)
        }
        let start = file.size
        let flight = observation.flight
        if var begun = current {
            if onToken != nil { file.keepForLater() }
            begun.offset = file.size
            try flight?.check()
            onToken?(begun)
            current = begun
        }
        do {
            try await Self.receive(sent.response.body, into: &file, upTo: size, of: &current, onToken, onProgress, flight)
        } catch {
            if var interrupted = current, flight?.isWiped != true {
                interrupted.offset = file.size
                // The app may resume at once, within this call.
                file.unlock()
                onToken?(interrupted)
            }
            throw error
        }
        observation.call?.finish(received: file.size - start)
        return .content(head)
    }

    /// How many bytes lie between two tokens.
    private static let stride = 64 << 20

    private static func receive(
        _ body: ResponseBody, into file: inout DownloadFile, upTo size: Int?, of token: inout ResumeToken?,
        _ onToken: (@Sendable (ResumeToken) -> Void)?, _ onProgress: (@Sendable (TransferProgress) -> Void)?, _ flight: RequestFlight?
    ) async throws {
        for try await part in body {
            try flight?.check()
            if let size, part.count > size - file.size {
                throw ApproovError(.networkingError, "the server sent more than the \(size) bytes that it announced; try again later")
            }
            try file.write(part)
            onProgress?(TransferProgress(completed: file.size, total: size))
            guard let onToken, let stored = token, file.size - stored.offset >= stride else { continue }
            try file.store()
            token?.offset = file.size
            try flight?.check()
            if let token { onToken(token) }
        }
        if let size, file.size < size {
            throw ApproovError(
                .networkingError, "the download ended after \(file.size) of \(size) bytes: resume it with its newest token, or try again")
        }
    }
}
