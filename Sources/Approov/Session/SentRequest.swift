import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Synchronization

/// A request that was sent, with its response.
///
/// A class, because it is large and passes through several hands.
final class SentRequest: Sendable {
    /// The response; read the body of one that is not streamed with ``body(upTo:)``.
    let response: TransportResponse
    /// The request of the caller or of a redirect.
    let asked: URLRequest
    /// The request as the interceptors left it; made only when it is asked for, because few ask.
    var adapted: URLRequest { prepared.current }
    private let prepared: RequestDraft
    /// The request as it was sent, without the fields that stations 4 to 6 added.
    let request: URLRequest
    /// The method that was sent; interceptors and the policy may have changed it.
    let method: HTTPRequest.Method
    private let followsNonIdempotent: Bool
    /// Whether the server has probably executed a request of this attempt that is not idempotent, and redirected to its result.
    let isAfterExecution: Bool
    /// Whether a redirect must not lead to plain http.
    let demandsTLS: Bool
    /// Whether the request went over a relay.
    let isOblivious: Bool
    /// The token that the request carried; nil if it carried none.
    let token: SentToken?
    /// Whether the body can be sent again, which is not so for a stream that was read.
    let canBeSentAgain: Bool
    /// The secrets that the request carried; a redirect must not repeat them.
    let substitutes: Substitutes
    /// Tells the session's gate when the response has come; nil without a gate, and for a streamed response.
    let ticket: GateTicket?
    /// The response's head and body, once they were made and read: validators, interceptors and the caller get the same ones.
    private let whole = Mutex<(head: HTTPURLResponse?, body: [UInt8]?)>((nil, nil))

    init(
        response: TransportResponse, to step: borrowing RedirectStep, prepared: RequestDraft, draft: borrowing RequestDraft,
        demandsTLS: Bool, isOblivious: Bool, ticket: GateTicket?
    ) {
        self.response = response
        asked = step.request
        followsNonIdempotent = step.followsNonIdempotent
        isAfterExecution = step.isAfterExecution
        self.prepared = prepared
        request = draft.request
        method = draft.method
        self.demandsTLS = demandsTLS
        self.isOblivious = isOblivious
        token = draft.token.attached
        canBeSentAgain = draft.body.canBeSentAgain
        substitutes = draft.substitutes
        self.ticket = ticket
    }

    /// Whether this request and the redirects before it can be sent again without the server executing something twice.
    ///
    /// The methods of the caller and of what was sent count: to be safe, both must be idempotent.
    var isIdempotent: Bool { !followsNonIdempotent && method.isIdempotent && asked.isIdempotent }

    /// The URL that the request was sent to; interceptors may have changed it within the origin.
    var url: URL { request.url ?? URL(filePath: "/") }
    /// The URL as the caller or a redirect spelled it; the caller sees this one.
    var askedFor: URL { asked.url ?? URL(filePath: "/") }

    /// Returns the response's head, and makes it if it was not made yet.
    func head(_ make: () throws -> HTTPURLResponse) rethrows -> HTTPURLResponse {
        if let head = whole.withLock({ $0.head }) { return head }
        let made = try make()
        whole.withLock { $0.head = made }
        return made
    }

    /// Returns the response's body, and reads it if it was not read yet.
    ///
    /// - Parameter limit: The maximum number of bytes; nil for no limit.
    /// - Returns: The body.
    /// - Throws: ``ApproovError`` when it is longer, or cannot be read; `CancellationError` when the task is cancelled.
    func body(upTo limit: Int?) async throws -> [UInt8] {
        if let body = whole.withLock({ $0.body }) { return body }
        do {
            let read = try await response.body.collect(upTo: limit ?? .max)
            whole.withLock { $0.body = read }
            return read
        } catch {
            throw error.asApproovError(isRepeatable: isIdempotent)
        }
    }
}
