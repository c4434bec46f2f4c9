import FoundationNetworking
import HTTPClient
import HTTPTypes

/// Station 2: adds the wrapped session's headers, cookies, timeouts and proxies.
struct DefaultsStation: Sendable {
    let defaults: SessionDefaults

    /// Begins the draft of a request: the caller's request with the session's defaults.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest` when a header is malformed.
    func draft(of step: RedirectStep) throws -> RequestDraft {
        let request = step.request
        var fields = try HTTPFields(request)
        for field in step.perRequestFields where !fields.scan(for: field.name) { fields.append(field) }
        let additional = step.hasLeftOrigin ? defaults.fieldsElsewhere : defaults.fields
        // `merge` copies the fields where it adds some, so keeping those before makes no further copy.
        let own = additional.isEmpty ? nil : fields
        defaults.merge(into: &fields, hasLeftOrigin: step.hasLeftOrigin)
        let merged = own.flatMap { $0.count < fields.count ? RequestDraft.Defaults(own: $0, fields: additional) : nil }
        // Append the cookies as one field: setting the field by name would split it into one field per cookie.
        if request.httpShouldHandleCookies, let cookies = defaults.cookies, let url = request.url, !fields.scan(for: .cookie),
            let cookie = cookies.header(for: url)
        {
            fields.append(HTTPField(name: .cookie, value: cookie))
        }
        switch defaults.cachePolicy(of: request) {
        case .reloadIgnoringLocalAndRemoteCacheData, .reloadRevalidatingCacheData:
            if !fields.contains(.cacheControl) { fields[.cacheControl] = "no-cache" }
        default: break
        }
        var draft = RequestDraft(request: request, url: step.url, body: step.body, fields: fields)
        draft.defaults = merged
        return draft
    }

    /// Sets what interceptors may still decide: the method, the timeout and the field Accept.
    ///
    /// - Throws: ``ApproovError`` with code `badRequest` when the method is malformed.
    func finish(_ draft: inout RequestDraft) throws {
        draft.method = try draft.request.method
        draft.idleTimeout = defaults.idleTimeout(for: draft.request, added: draft.addedTimeout)
        // `URLSession` adds the same header.
        if !draft.fields.scan(for: .accept) { draft.fields.append(HTTPField(name: .accept, value: "*/*")) }
    }
}
