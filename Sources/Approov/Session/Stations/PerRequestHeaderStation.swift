@_spi(Internals) import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import MessageSignatures

/// Between stations 0 and 1: adds the header fields that the app makes for each call or attempt.
///
/// ``RequestPerformer`` waits at the gate first, so that a timestamp or a nonce does not age there, and asks ``AllowedHosts``. All
/// redirects of an attempt have the same fields.
struct PerRequestHeaderStation: Sendable {
    /// Nil without such headers; the station then has nothing to do.
    private let headers: PerRequestHeaders?
    /// The names, in lower case, that the station refuses.
    private let reserved: Set<String>

    /// Whether there are no such headers.
    let isOff: Bool

    init(_ headers: PerRequestHeaders?, names: TokenHeaderNames?, substitutedHeaders: Set<String>) {
        self.headers = headers
        isOff = headers == nil
        reserved = isOff ? [] : Self.reserved(names: names, substitutedHeaders: substitutedHeaders)
    }

    /// Adds the fields of a call.
    ///
    /// - Parameter step: The caller's request; on return, with the fields.
    /// - Throws: ``ApproovError`` with code `badRequest` when the app names a header that it must not set here, or one that is malformed.
    func beginCall(_ step: inout RedirectStep) throws { try add(.perCall, to: &step) }

    /// Adds the fields of an attempt.
    ///
    /// - Parameter step: The caller's request; on return, with the fields.
    /// - Throws: ``ApproovError`` with code `badRequest` when the app names a header that it must not set here, or one that is malformed.
    func beginAttempt(_ step: inout RedirectStep) throws { try add(.perAttempt, to: &step) }

    private func add(_ scope: PerRequestHeaders.Scope, to step: inout RedirectStep) throws {
        guard let headers, headers.scope == scope else { return }
        for (name, value) in headers.make(step.request) {
            guard let parsed = HTTPField.Name(name), !name.hasPrefix(":"), let field = HTTPField(parsed, valid: value) else {
                throw ApproovError(
                    .badRequest,
                    "perRequestHeaders made a malformed header field: \(LoggableText.name(name)); return a valid name and value")
            }
            guard !reserved.contains(parsed.canonicalName), !parsed.canonicalName.hasPrefix("proxy-") else {
                throw ApproovError(.badRequest, "perRequestHeaders must not set \(LoggableText.name(name)): leave it out")
            }
            if !step.perRequestFields.scan(for: parsed) { step.perRequestFields.append(field) }
        }
    }

    /// Returns the names, in lower case, of the fields that something else sets.
    static func reserved(names: TokenHeaderNames?, substitutedHeaders: Set<String>) -> Set<String> {
        let own = (names?.all ?? []).map(\.canonicalName)
        return fixed.union(own).union(substitutedHeaders)
    }

    private static let fixed: Set<String> = [
        "authorization", "connection", "content-digest", "content-length", "cookie", "expect", "host", "http2-settings", "keep-alive",
        "signature", "signature-input", "te", "trailer", "transfer-encoding", "upgrade", "www-authenticate",
    ]
}
