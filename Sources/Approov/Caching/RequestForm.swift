import Attestation
package import HTTPClient
import HTTPTypes

/// What the response to a GET request may depend on: its user, its URL, and the header fields that the session's stations 2 and 3 send.
///
/// Equal forms may share a response. Tokens and signatures are not part of it.
package struct RequestForm: Hashable, Sendable {
    /// The number of changes of the session's user before the request; see ``CredentialHolder/generation``.
    package let generation: Int
    package let url: TransportURL
    /// The hash of the header fields without Cache-Control and Pragma; the fields themselves may be secrets.
    private let fieldsHash: String

    init(_ draft: RequestDraft, _ flight: RequestFlight?) {
        generation = flight?.generation ?? 0
        url = draft.url
        let lines = draft.fields.filter { !Self.isControl($0) }
            // No field contains a zero byte.
            .map { "\($0.name.canonicalName)\0\($0.value)\0" }.sorted()
        fieldsHash = Binding.payHash(of: lines.joined())
    }
}

extension RequestForm {
    /// Whether a field says how caches treat the request, which does not change the response.
    static func isControl(_ field: HTTPField) -> Bool { field.name == .cacheControl || field.name.canonicalName == "pragma" }
}
