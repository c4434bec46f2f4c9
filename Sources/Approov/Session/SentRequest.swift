import Foundation
import FoundationNetworking
import HTTPClient
import Synchronization

/// A request that was sent, with its response.
///
/// A class, because it is large and passes through several hands.
final class SentRequest: Sendable {
    /// The response; validators replace a body that they have read.
    let response: TransportResponse
    /// The request of the caller or of a redirect.
    let asked: URLRequest
    /// The request as the interceptors left it; made only when it is asked for, because few ask.
    var adapted: URLRequest { prepared.current }
    private let prepared: RequestDraft
    /// The request as it was sent, without the fields that stations 4 to 6 added.
    let request: URLRequest
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
    /// The response's head, once it was made: validators, interceptors and the caller get the same one.
    private let head: Mutex<HTTPURLResponse?>

    init(
        response: TransportResponse, asked: URLRequest, prepared: RequestDraft, request: URLRequest, demandsTLS: Bool, isOblivious: Bool,
        token: SentToken?, canBeSentAgain: Bool, substitutes: Substitutes, ticket: GateTicket? = nil, head: HTTPURLResponse? = nil
    ) {
        self.response = response
        self.asked = asked
        self.prepared = prepared
        self.request = request
        self.demandsTLS = demandsTLS
        self.isOblivious = isOblivious
        self.token = token
        self.canBeSentAgain = canBeSentAgain
        self.substitutes = substitutes
        self.ticket = ticket
        self.head = Mutex(head)
    }

    /// The URL that the request was sent to; interceptors may have changed it within the origin.
    var url: URL { request.url ?? URL(filePath: "/") }
    /// The URL as the caller or a redirect spelled it; the caller sees this one.
    var askedFor: URL { asked.url ?? URL(filePath: "/") }

    /// Returns the response's head, and makes it if it was not made yet.
    func head(_ make: () throws -> HTTPURLResponse) rethrows -> HTTPURLResponse {
        if let head = head.withLock({ $0 }) { return head }
        let made = try make()
        head.withLock { $0 = made }
        return made
    }

    /// Returns the same with a body in memory in place of the response's own.
    func with(_ bytes: [UInt8]) -> SentRequest { copy(response.with(ResponseBody(bytes: bytes)), ticket) }

    /// Returns the same with the ticket of the session's gate.
    func with(_ ticket: GateTicket) -> SentRequest { copy(response, ticket) }

    private func copy(_ response: TransportResponse, _ ticket: GateTicket?) -> SentRequest {
        SentRequest(
            response: response, asked: asked, prepared: prepared, request: request, demandsTLS: demandsTLS, isOblivious: isOblivious,
            token: token, canBeSentAgain: canBeSentAgain, substitutes: substitutes, ticket: ticket, head: head.withLock { $0 })
    }
}
