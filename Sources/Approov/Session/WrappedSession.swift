import Foundation
import FoundationNetworking

/// The wrapped session itself, for the two kinds of request that are its own: those that one of its protocol classes claims, such as a
/// test's mock, and those whose scheme is not http or https.
struct WrappedSession: Sendable {
    private let session: URLSession
    /// Metatypes are constants; the array is never changed.
    private let protocolClasses: [URLProtocol.Type]

    init(_ session: URLSession) {
        self.session = session
        // Foundation's own classes claim everything they can load: they are how it sends, not what somebody put there.
        protocolClasses = (session.configuration.protocolClasses ?? []).compactMap { $0 as? URLProtocol.Type }
            .filter { !String(reflecting: $0).hasPrefix("FoundationNetworking.") }
    }

    /// Whether one of the protocol classes claims the request.
    func claims(_ request: URLRequest) -> Bool {
        !protocolClasses.isEmpty && protocolClasses.contains { $0.canInit(with: request) }
    }

    /// Whether the request's scheme is not http or https.
    static func isForeign(_ request: URLRequest) -> Bool {
        guard let scheme = request.url?.scheme?.lowercased() else { return false }
        return scheme != "http" && scheme != "https"
    }

    /// Lets the session perform the request.
    ///
    /// Always as a data task: on Linux an upload's body does not reach a protocol class, and a download through one ends the process.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limit: The most bytes the response's body may have; counted when all are there, for the session hands them over together.
    /// - Returns: Body and head of the response.
    /// - Throws: ``ApproovError``; `CancellationError` when the task is cancelled.
    func data(for request: URLRequest, limit: Int? = nil) async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await load(request)
        if let limit, data.count > limit {
            throw ApproovError(.responseTooLarge, "the response is larger than the \(limit) bytes allowed: raise the limit")
        }
        if let response = response as? HTTPURLResponse { return (data, response) }
        // file: and data: know no status.
        guard let url = response.url ?? request.url,
            let synthetic = HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil, headerFields: response.mimeType.map { ["Content-Type": $0] })
        else { throw ApproovError(.networkingError, "the wrapped session gave no response; try again later") }
        return (data, synthetic)
    }

    private func load(_ request: URLRequest) async throws -> (Data, URLResponse) {
        do {
            return try await session.data(for: request)
        } catch {
            // It has an error of its own for this.
            try Task.checkCancellation()
            if let code = (error as? URLError)?.code, Self.permanentCodes.contains(code) {
                throw ApproovError(
                    .badRequest, "the wrapped session cannot load this URL: check its scheme and what it names", cause: error)
            }
            let code = (error as? URLError)?.code
            throw ApproovError(
                code == .timedOut ? .timedOut : .networkingError,
                "the wrapped session could not load the request; if it cannot be executed twice, find out first whether it was",
                cause: error, isRetryable: request.isIdempotent || code.map(Self.unsentCodes.contains) ?? false)
        }
    }

    /// What a request fails with of which nothing was sent.
    private static let unsentCodes: Set<URLError.Code> = [.cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet]

    /// What the same request fails with again.
    private static let permanentCodes: Set<URLError.Code> = [
        .badURL, .unsupportedURL, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile,
    ]
}
