import ApproovBase
public import Foundation
public import HTTPClient
import HTTPTypes
import Synchronization

/// Answers requests from a recording, without a network.
///
/// ```swift
/// var configuration = ApproovSessionConfiguration()
/// configuration.transport = try ReplayTransport(from: URL(filePath: "recordings"))
/// let session = try ApproovSession(service: nil, configuration: configuration)
/// ```
///
/// A request matches an exchange with the same method, scheme, host, port, path and query. The order of differently named query parameters
/// does not count, and a redacted value stands for the value that was redacted. If several exchanges match, they answer in the order of
/// their recording, and the last one answers all further requests.
///
/// Exchanges with the same `Range`, and with `If-None-Match` and `If-Modified-Since` if the request has them, come before others. A
/// response with status 206, 304 or 416 that was recorded with such fields answers no request without them; other responses do.
///
/// Recordings hold no trailer fields, so a replay answers without them.
///
/// No server proves anything here, so a session with a service refuses this transport.
public final class ReplayTransport: TestOnlyTransport {
    private let folder: RecordingFolder
    private let unmatched: UnmatchedRequests
    private let redactor: Redactor?
    /// The origins that references in a response's fields lose.
    private let servedOrigins: Set<String>
    private let answers: Mutex<RecordedAnswers>

    /// Reads the recording; bodies are read when they are needed.
    ///
    /// - Parameters:
    ///   - folder: The folder of the recording.
    ///   - unmatched: What happens to a request without a recorded response.
    ///   - redaction: Compares the bodies of requests too, by the rules with which they were recorded; nil ignores bodies. A recorded
    ///     request without a hash of its body matches every body that no other has the hash of: see ``RecordingTransport``. A request whose
    ///     body has no hash, such as a stream, takes a recorded one without a hash first, and then any.
    /// - Throws: `TransportError` with code `recordingMissing`, which names the folder or file that is missing or damaged.
    public convenience init(
        from folder: URL, unmatched: UnmatchedRequests = .fail, comparingBodiesBy redaction: RecordingRedaction? = nil
    ) throws {
        try self.init(from: folder, unmatched: unmatched, comparingBodiesBy: redaction, ignoringOrigin: false)
    }

    /// As the public one; `ignoringOrigin` answers requests to any host, for a server that has its own name, and takes the origins of all
    /// exchanges from the references that a client follows.
    package init(
        from folder: URL, unmatched: UnmatchedRequests, comparingBodiesBy redaction: RecordingRedaction?, ignoringOrigin: Bool
    ) throws {
        self.folder = RecordingFolder(folder)
        self.unmatched = unmatched
        redactor = try redaction.map { try Redactor($0) }
        let exchanges = try self.folder.exchanges()
        servedOrigins = ignoringOrigin ? Set(exchanges.compactMap { try? TransportURL($0.exchange.url).origin }) : []
        answers = Mutex(RecordedAnswers(exchanges, ignoresOrigin: ignoringOrigin))
    }

    /// Answers the request.
    ///
    /// - Parameter request: The request; a stream as its body is read and discarded.
    /// - Returns: The recorded response.
    /// - Throws: `TransportError` with code `recordingMissing` when no exchange matches or its body cannot be read, and with code
    ///   `bodyTooLarge` when that is larger than the request allows; `CancellationError` when the task is cancelled.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        let digest = redactor.flatMap { redactor in
            var secrets: Set<NotedSecret> = []
            _ = redactor.url(request.url.text, &secrets)
            _ = redactor.lines(request.headerFields, isRequest: true, &secrets)
            var found: Set<NotedSecret> = []
            return BodyDigest.text(of: request, redactor, secrets, found: &found)
        }
        let answer = answers.withLock { answers in
            answers.next(request.method, request.url.text, request.headerFields, digest: digest, comparesBodies: redactor != nil)
        }
        guard let (name, exchange) = answer else { return try await respondUnmatched(to: request) }
        if case .stream = request.body { try await request.body.forEachPart { _ in } }
        let body = try exchange.bodyName.map { try folder.read($0, upTo: RecordingFolder.maximumBodyBytes) } ?? []
        if let limit = request.options.maximumBodyBytes, body.count > limit {
            throw TransportError(.bodyTooLarge, "the response's body is larger than \(limit) bytes; raise the limit or stream it")
        }
        request.options.onDownload?(TransferProgress(completed: body.count, total: body.count))
        return TransportResponse(
            status: exchange.status, headerFields: try fields(of: exchange, named: name, body: body, method: request.method),
            version: exchange.version, url: request.url, body: ResponseBody(bytes: request.method == .head ? [] : body))
    }

    /// The recorded fields, with the length that the body has now: redaction and editing change it.
    private func fields(
        of exchange: RecordedExchange, named name: String, body: [UInt8], method: HTTPRequest.Method
    ) throws -> HTTPFields {
        var fields: HTTPFields
        do {
            fields = try exchange.responseFields
        } catch {
            throw RecordingFolder.missing("\(folder.shownPath(of: name)) is damaged: \(error.reason)")
        }
        if !servedOrigins.isEmpty { fields = RecordedURL.withoutOrigins(servedOrigins, in: fields, of: exchange.url) }
        if fields[.contentLength] != nil, method != .head, exchange.status != 304 { fields[.contentLength] = String(body.count) }
        return fields
    }

    private func respondUnmatched(to request: TransportRequest) async throws -> TransportResponse {
        switch unmatched {
        case .send(let other): return try await other.send(request)
        case .respond(let status): return TransportResponse(status: status, url: request.url)
        case .fail:
            // The URL may hold secrets, so only its host is named.
            throw RecordingFolder.missing(
                "no exchange in \(folder.shownPath) answers this \(request.method.rawValue) request to \(request.url.host): record it, or"
                    + " give ReplayTransport another value for unmatched")
        }
    }
}
