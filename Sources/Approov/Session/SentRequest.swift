import Foundation
import FoundationNetworking
import HTTPClient

/// A request that was sent, with its response.
struct SentRequest: Sendable {
    /// The response; validators replace a body that they have read.
    var response: TransportResponse
    /// The request as the interceptors left it.
    let adapted: URLRequest
    /// The URL that the request was sent to; interceptors may have changed it within the origin.
    let url: URL
    /// The URL as the caller or a redirect spelled it; the caller sees this one.
    let askedFor: URL
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
    var ticket: GateTicket?
}
