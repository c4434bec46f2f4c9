/// Where a client puts the parameters of a request that has content.
public enum ParameterEncoding: Sendable, Hashable {
    /// Content in JSON.
    case json
    /// Content as a form.
    case form
    /// The query of the URL.
    case query
}
