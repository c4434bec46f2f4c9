/// The problem types in a gateway's `application/problem+json` responses (RFC 9458, sections 5.3 and 6.5.2).
public enum OHTTPProblemType {
    /// The request was encapsulated with a key configuration that the gateway does not accept.
    public static let key = "https://iana.org/assignments/http-problem-types#ohttp-key"
    /// The Date field of the request is missing or too far from the gateway's clock.
    public static let date = "https://iana.org/assignments/http-problem-types#date"
    /// A chunk of the request is larger than the gateway accepts.
    package static let chunkTooLarge = "urn:approov:problem:chunk-too-large"
    /// The response is too large to be encapsulated whole.
    package static let responseTooLarge = "urn:approov:problem:response-too-large"
}
