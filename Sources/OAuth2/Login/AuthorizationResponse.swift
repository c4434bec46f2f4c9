internal import ApproovBase
internal import Foundation
internal import HTTPClient

/// The parameters of a redirect that has the state of a request, and has it once (RFC 6749, sections 4.1.2 and 4.2.2).
struct AuthorizationResponse {
    /// The most parameters that a redirect may have.
    private static let maximumParameters = 32
    /// The most parameters that a redirect URI may have itself.
    static let maximumOwnParameters = 16
    /// The names of what a server adds to a redirect URI (RFC 6749, sections 4.1.2 and 4.2.2; RFC 9207).
    static let names: Set<String> = [
        "access_token", "code", "error", "error_description", "error_uri", "expires_in", "iss", "refresh_token", "scope", "state",
        "token_type",
    ]

    private let values: [String: String]
    /// The name of a parameter that occurs twice.
    private let repeated: String?

    /// Reads the parameters.
    ///
    /// - Parameters:
    ///   - text: The query or the fragment of the redirect.
    ///   - state: The state of the request.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused`; another page may then have sent the redirect.
    init(_ text: String, state: String) throws {
        guard let (values, repeated) = Self.read(text) else {
            throw Self.refused("its parameters are malformed, or more than \(Self.maximumParameters)")
        }
        guard !repeated.contains("state") else { throw Self.repeats("state") }
        guard let received = values["state"], OAuth2Text.isEqual(received, state) else {
            throw Self.refused("its state is not that of this request, so another page may have sent it")
        }
        self.values = values
        self.repeated = repeated.first
    }

    /// Decodes parameters.
    ///
    /// - Parameter text: A query or a fragment.
    /// - Returns: The parameters, and the names that occur again; nil if they are malformed or too many.
    fileprivate static func read(_ text: String) -> (values: [String: String], repeated: [String])? {
        guard let pairs = FormText.decode(text, limit: maximumParameters) else { return nil }
        var values: [String: String] = [:]
        let repeated = pairs.filter { values.updateValue($0.value, forKey: $0.name) != nil }
        return (values, repeated.map(\.name))
    }

    /// Returns the parameters of a server's consent.
    ///
    /// - Parameters:
    ///   - server: The server that was asked.
    ///   - granted: The parameter that grants the authorization, `code` or `access_token`: an error has none.
    /// - Returns: The parameters.
    /// - Throws: ``OAuth2Error`` with code `redirectRefused` when a parameter occurs twice, another server sent the response, or its error
    ///   is malformed or comes with what grants the authorization; with code `authorizationRefused` when the server reports an error.
    func parameters(from server: OAuth2Server, granting granted: String) throws -> [String: String] {
        if let repeated { throw Self.repeats(repeated) }
        let isIssuerMissing = server.alwaysSendsIssuer && values["iss"] == nil
        if let issuer = server.issuer, isIssuerMissing || !OAuth2Text.isEqual(values["iss"] ?? issuer, issuer) {
            throw Self.refused("it names another issuer than the server's, or none (RFC 9207)")
        }
        if let text = values["error"] {
            guard values[granted] == nil, let error = OAuth2ServerError(received: text) else {
                throw Self.refused("its error is malformed, or it has the parameter \(granted) besides")
            }
            throw OAuth2Error(.authorizationRefused, "the authorization was refused: \(error)", serverError: error)
        }
        return values
    }

    /// Whether the response has all parameters of the redirect URI's own query.
    func hasParameters(of redirectURI: URL) -> Bool { redirectURI.isQueryPart(of: values) }

    private static func repeats(_ name: String) -> OAuth2Error { refused("the parameter \(LoggableText.name(name)) occurs twice") }

    static func refused(_ flaw: String) -> OAuth2Error {
        OAuth2Error(.redirectRefused, "the redirect was refused: \(flaw)", serverError: nil)
    }
}

extension URL {
    /// Whether this is the redirect URI as a browser writes it, whatever the query and the fragment.
    ///
    /// Browsers write an http or https URL in canonical form: the host in lower case, no default port, and a slash for an empty path. A
    /// host with a dot at its end counts as the same host, and an IPv4 address in the form of IPv6 as the same address.
    func isRedirect(to redirectURI: URL) -> Bool { page == redirectURI.page }

    /// The text before the query and the fragment; in canonical form if the scheme is http or https.
    private var page: Substring {
        let text = (try? TransportURL(self).text) ?? absoluteString
        return text.prefix { $0 != "?" && $0 != "#" }
    }

    /// The parameters of the query; nil if it is malformed, repeats a name, or has more than a redirect may have.
    var queryParameters: [String: String]? {
        guard let read = AuthorizationResponse.read(query(percentEncoded: true) ?? ""), read.repeated.isEmpty else { return nil }
        return read.values
    }

    /// Whether all parameters of the query are among these, and their values are the same byte by byte.
    func isQueryPart(of values: [String: String]) -> Bool {
        queryParameters?.allSatisfy { name, value in values[name]?.utf8.elementsEqual(value.utf8) == true } ?? false
    }
}
