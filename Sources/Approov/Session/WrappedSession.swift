@_spi(Internals) import ApproovBase
import Foundation
import FoundationNetworking

/// The wrapped session itself, for requests that it performs instead of libcurl.
///
/// These are the requests that one of its protocol classes claims, such as a test's mock, and those whose scheme is not http or https.
struct WrappedSession: Sendable {
    private let session: URLSession
    /// Performs what protocol classes claim; Foundation's own loaders do not exist in it.
    private let mocked: URLSession?
    /// Safe to share: metatypes are constants, and the array never changes.
    private let protocolClasses: [URLProtocol.Type]

    init(_ session: URLSession) {
        self.session = session
        // Foundation's own classes claim every request that they can load. Ignore them: the caller did not install them.
        protocolClasses = (session.configuration.protocolClasses ?? []).compactMap { $0 as? URLProtocol.Type }
            .filter { !String(reflecting: $0).hasPrefix("FoundationNetworking.") }
        // On Linux, a session hands out its own configuration, which must stay as it is.
        guard !protocolClasses.isEmpty, let configuration = session.configuration.copy() as? URLSessionConfiguration else {
            mocked = nil
            return
        }
        configuration.protocolClasses = protocolClasses + [NoLoader.self]
        mocked = URLSession(configuration: configuration)
    }

    /// Whether the caller installed protocol classes.
    var hasProtocolClasses: Bool { !protocolClasses.isEmpty }

    /// Whether one of the protocol classes claims the request.
    func claims(_ request: URLRequest) -> Bool {
        !protocolClasses.isEmpty && protocolClasses.contains { $0.canInit(with: request) }
    }

    /// Whether the request's scheme is not http or https.
    static func isForeign(_ request: URLRequest) -> Bool {
        guard let url = request.url else { return false }
        // The usual spelling needs no parts of the URL, each of which Foundation makes on demand.
        if url.absoluteString.hasPrefix("https:") { return false }
        guard let scheme = url.scheme?.lowercased() else { return false }
        return scheme != "http" && scheme != "https"
    }

    /// Calls a completion handler where the wrapped session would, and waits for its end.
    ///
    /// What the handler starts still counts as started by the current task, such as by the work of a barrier. If the queue's operations are
    /// cancelled, the handler is not called, as with a `URLSession`.
    func onDelegateQueue(_ handler: @escaping @Sendable () -> Void) async {
        let marks = WorkMarks.current
        await withCheckedContinuation { continuation in
            let operation = BlockOperation { WorkMarks.$current.withValue(marks) { handler() } }
            operation.completionBlock = { continuation.resume() }
            session.delegateQueue.addOperation(operation)
        }
    }

    /// Performs the request with the wrapped session, always as a data task.
    ///
    /// On Linux, the body of an upload task does not reach a protocol class, and a download task with a protocol class ends the process.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The maximum size of the response's body in bytes; checked at the end, because the session returns the body as a whole.
    /// - Returns: The response's body and head.
    /// - Throws: ``ApproovError`` when the request fails or its response is larger than `limit`; `CancellationError` when the task is
    ///   cancelled.
    func data(for request: URLRequest, limit: Int? = nil) async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await load(request)
        if let limit, data.count > limit {
            throw ApproovError(.responseTooLarge, "the response is larger than the \(limit) bytes allowed: raise the limit")
        }
        if let response = response as? HTTPURLResponse { return (data, response) }
        // Responses to file: and data: URLs have no status.
        guard let url = response.url ?? request.url,
            let synthetic = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil, headerFields: response.mimeType.map { ["Content-Type": $0] })
        else { throw ApproovError(.networkingError, "the wrapped session gave no response; try again later") }
        return (data, synthetic)
    }

    private func load(_ request: URLRequest) async throws -> (Data, URLResponse) {
        do {
            // Foundation follows redirects itself, to any host and any address, so its loaders must not see an http or https request.
            guard !Self.isForeign(request) else { return try await session.data(for: request) }
            guard let mocked else { throw NoLoader.error }
            return try await mocked.data(for: request)
        } catch {
            // `URLSession` throws its own error on cancellation; throw `CancellationError` instead.
            try Task.checkCancellation()
            if let error = error as? ApproovError { throw error }
            if let code = (error as? URLError)?.code, Self.permanentCodes.contains(code) {
                throw ApproovError(
                    .badRequest, "the wrapped session cannot load this URL: check its scheme and what it names", cause: error)
            }
            let code = (error as? URLError)?.code
            throw ApproovError(
                code == .timedOut ? .timedOut : .networkingError,
                "the wrapped session could not load the request; unless it is safe to repeat, check first whether the server executed it",
                cause: error, isRetryable: request.isIdempotent || code.map(Self.unsentCodes.contains) ?? false)
        }
    }

    /// The errors after which nothing of the request was sent.
    private static let unsentCodes: Set<URLError.Code> = [.cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet]

    /// The errors with which the same request fails again.
    private static let permanentCodes: Set<URLError.Code> = [
        .badURL, .unsupportedURL, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile,
    ]
}

/// The last protocol class, which fails every request that reaches it.
private final class NoLoader: URLProtocol {
    static var error: ApproovError {
        ApproovError(
            .badRequest,
            "a protocol class of the wrapped session claimed this request and then did not take it, so nothing was sent: let canInit give"
                + " the same answer each time")
    }

    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() { client?.urlProtocol(self, didFailWithError: Self.error) }
    override func stopLoading() {}
}
