package import FoundationNetworking
package import HTTPTypes

/// A request as the session's stations 2 and 3 leave it, for a cache.
package struct CacheableRequest: Sendable {
    package let form: RequestForm
    /// Its fields Cache-Control and Pragma.
    package let control: HTTPFields
    /// Its own cache policy, or that of the wrapped session.
    package let cachePolicy: URLRequest.CachePolicy

    init(_ draft: RequestDraft, _ flight: RequestFlight?, _ defaults: SessionDefaults) {
        form = RequestForm(draft, flight)
        control = HTTPFields(draft.fields.filter(RequestForm.isControl))
        cachePolicy = defaults.cachePolicy(of: draft.request)
    }
}
