import ApproovBase
import CertificatePinning
import HTTPTypes

/// Says where a session puts secure strings into requests: to which hosts, and in which header fields and query parameters.
///
/// The app writes the key of a secure string as a placeholder. The session replaces the placeholder when it sends the request:
///
/// ```swift
/// configuration.substitutions = [try Substitution(hosts: ["maps.example.com"], headers: ["Api-Key": ""], queryParameters: ["key"])]
/// …
/// request.setValue("maps-key", forHTTPHeaderField: "Api-Key")
/// ```
///
/// - The session sends a value only over https, to a host that is named here and protected by the configuration, and only while the app's
///   newest attestation found it genuine. The host need not get tokens (`approov api -add HOST -noApproovToken`), and any port counts.
/// - If no string has the key, the session sends the placeholder unchanged, unless its policy decides otherwise. A value of more than 64
///   characters, or with a space, fails the request: it cannot be a key.
/// - A redirect starts from the app's own request. When it leads to another origin, the headers named here stay behind, and placeholders in
///   the query are not replaced. If a redirect's URL repeats a value, the session puts the placeholder back, or refuses the redirect. It
///   could not recognise a value of fewer than 8 bytes there, so it refuses a request that needs such a value.
/// - The app sees only the placeholder: in `HTTPURLResponse.url`, and in the requests that interceptors, policies and bindings get.
/// - A request to an oblivious host carries the account's strings only: one that the app has set may tell installations apart.
/// - The session replaces nothing in a request to a URL that it excludes or that its policy does not attest.
public struct Substitution: Sendable, Hashable {
    /// The canonical names of the hosts.
    public let hosts: [String]
    /// The headers, each with the text before the placeholder, such as "Bearer "; a value that does not begin with it is left as it is.
    public let headers: [String: String]
    /// The names of the query parameters, decoded.
    public let queryParameters: [String]
    /// The headers by name.
    let fields: [HTTPField.Name: String]

    /// Names the places.
    ///
    /// - Parameters:
    ///   - hosts: The hosts, each by its own name; patterns are refused, so that every host that may receive a secret is written down.
    ///   - headers: The headers, each with the text before the placeholder; "" for none.
    ///   - queryParameters: The names of the query parameters.
    /// - Throws: ``ApproovError`` with code `initializationError` when a name is malformed, no host or no place is named, or a header is one
    ///   that the transport writes.
    public init(hosts: [String], headers: [String: String] = [:], queryParameters: [String] = []) throws {
        guard !hosts.isEmpty, !headers.isEmpty || !queryParameters.isEmpty else {
            throw Self.refusal("it must name at least one host, and one header or query parameter")
        }
        self.hosts = try hosts.map { host in
            do {
                guard !host.contains("*") else { throw Self.refusal("a host must be named without wildcards") }
                return try CanonicalHost(host).name
            } catch {
                throw Self.refusal("\(LoggableText.name(host)) is not the name of a host", cause: error)
            }
        }
        var fields: [HTTPField.Name: String] = [:]
        for (text, prefix) in headers {
            guard let name = HTTPField.Name(text), !text.hasPrefix(":"), !Self.reserved.contains(name.canonicalName) else {
                throw Self.refusal("\(LoggableText.name(text)) is not a header in which a string can be substituted")
            }
            guard HTTPField.isValidValue(prefix + "x") else {
                throw Self.refusal("the text before the placeholder in \(name) has characters that a header may not have")
            }
            guard fields.updateValue(prefix, forKey: name) == nil else { throw Self.refusal("\(name) is named twice") }
        }
        guard queryParameters.allSatisfy({ !$0.isEmpty }) else { throw Self.refusal("a query parameter must have a name") }
        self.headers = headers
        self.queryParameters = queryParameters
        self.fields = fields
    }

    /// The headers that the transport writes itself, or that say where the message ends.
    private static let reserved: Set<String> = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    private static func refusal(_ reason: String, cause: (any Error)? = nil) -> ApproovError {
        ApproovError(.initializationError, "a substitution cannot be used: \(reason)", cause: cause)
    }
}
