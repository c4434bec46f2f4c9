package import HTTPTypes

extension HTTPField.Name {
    /// The field that carries the token unless a session names another one.
    package static let approovToken = Self("Approov-Token") ?? .authorization
    /// The field that carries the trace ID unless a session names another one.
    package static let approovTraceID = Self("Approov-TraceID") ?? .authorization
}
