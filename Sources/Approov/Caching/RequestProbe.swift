import Foundation
package import FoundationNetworking
import HTTPClient
package import HTTPTypes
import Synchronization

/// Notes in which form a request is sent, for a cache that may keep its response.
package final class RequestProbe: Sendable {
    private struct State {
        /// The form of the first step.
        var first: RequestForm?
        var form: RequestForm?
        /// The header fields as station 3 left them.
        var prepared = HTTPFields()
        /// The header fields on the wire.
        var sent = HTTPFields()
        var isRedirected = false
        /// The request after the token, before the policy and secure strings change it.
        var authorized: RequestDraft?
        /// Whether the policy or secure strings changed the request, in any attempt.
        var isAltered = false
    }

    private let url: URL?
    private let state = Mutex(State())

    package init(_ request: URLRequest) { url = request.url }

    /// The form of the request that was sent last; nil if it was redirected or altered, or not sent.
    package var form: RequestForm? { state.withLock { $0.isRedirected || $0.isAltered ? nil : $0.form } }

    /// Whether no step of the request was sent.
    package var isUnsent: Bool { state.withLock { $0.first == nil } }

    /// Whether all steps of the request were sent for one user, after this number of changes; false if none was sent.
    package func hasGeneration(_ generation: Int) -> Bool {
        state.withLock { $0.first?.generation == generation && $0.form?.generation == generation }
    }

    /// The fields Cache-Control and Pragma of the request that was sent last.
    package var control: HTTPFields { state.withLock { HTTPFields($0.sent.filter(RequestForm.isControl)) } }

    /// Whether the stations after the third left a header field as it was.
    package func hasKept(_ name: HTTPField.Name) -> Bool { state.withLock { $0.prepared[values: name] == $0.sent[values: name] } }

    func note(_ draft: RequestDraft, of step: RedirectStep, _ flight: RequestFlight?) {
        let form = RequestForm(draft, flight)
        state.withLock { state in
            if state.first == nil { state.first = form }
            state.form = form
            state.prepared = draft.fields
            if step.request.url != url { state.isRedirected = true }
        }
    }

    /// Notes the request after the token.
    func noteAuthorized(_ draft: RequestDraft) { state.withLock { $0.authorized = draft } }

    /// Notes the request after the policy and the secure strings.
    func noteFinished(_ draft: RequestDraft) {
        let substitutes = draft.substitutes
        let hasPlaceholders = !substitutes.isEmpty || !substitutes.headers.isEmpty || !substitutes.queryParameters.isEmpty
        state.withLock { state in
            let isSame =
                state.authorized.map { $0.fields == draft.fields && $0.url.text == draft.url.text && $0.method == draft.method } ?? false
            let hasBody = draft.request.httpBody != nil || draft.request.httpBodyStream != nil
            if hasPlaceholders || !isSame || hasBody { state.isAltered = true }
            state.authorized = nil
        }
    }

    func noteSent(_ fields: HTTPFields) { state.withLock { $0.sent = fields } }
}
