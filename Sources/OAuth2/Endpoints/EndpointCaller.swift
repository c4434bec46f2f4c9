internal import Approov
internal import ApproovBase
internal import Foundation
internal import FoundationNetworking
internal import HTTPClient

/// Sends a form to an endpoint, bounds the answer, and translates failures.
struct EndpointCaller: Sendable {
    /// The most bytes of an answer.
    static let maximumAnswerBytes = 64 * 1_024
    /// How long one exchange may take, in seconds.
    static let timeout: TimeInterval = 30
    /// The longest wait without an answer's next byte, in seconds.
    private static let idleTimeout: TimeInterval = 15

    private let client: OAuth2Client
    private let session: ApproovSession
    private let clock: any TimeSource

    init(
        client: OAuth2Client, service: ApproovService?, trustManager: ApproovTrustManager, transport: (any HTTPTransport)?,
        clock: any TimeSource
    ) throws {
        self.client = client
        self.clock = clock
        let wrapped = URLSessionConfiguration.ephemeral
        wrapped.httpCookieStorage = nil
        wrapped.httpShouldSetCookies = false
        wrapped.urlCache = nil
        wrapped.timeoutIntervalForRequest = Self.idleTimeout
        wrapped.timeoutIntervalForResource = Self.timeout
        var configuration = ApproovSessionConfiguration()
        // A redirect would take the secret or the refresh token to another place.
        configuration.maximumRedirects = 0
        configuration.transport = transport
        configuration.clock = clock
        session = try ApproovSession(
            wrapping: URLSession(configuration: wrapped), service: service, trustManager: trustManager, configuration: configuration)
    }

    /// Sends parameters with the client's authentication.
    ///
    /// - Parameters:
    ///   - url: The endpoint.
    ///   - parameters: The parameters.
    ///   - needsJSON: Whether the answer must be JSON.
    /// - Returns: The members of the answer; none if it need not be JSON.
    /// - Throws: ``OAuth2Error`` as ``OAuth2Endpoints/issue(_:)`` describes; `CancellationError`.
    func post(_ url: URL, _ parameters: [(name: String, value: String)], needsJSON: Bool = true) async throws -> [String: JSONValue] {
        let request = try self.request(url, parameters)
        let (head, body) = try await exchange(request)
        let name = "\(url.host() ?? "the server")"
        guard head.statusCode == 200 else { throw refusal(head, body, by: name) }
        guard needsJSON else { return [:] }
        guard Self.isJSON(head) else {
            throw OAuth2Error(
                .responseMalformed, "the response of \(name) is not application/json; check the endpoint's URL", serverError: nil,
                status: 200)
        }
        do {
            guard case .object(let members) = try JSONValue(parsing: body, limit: Self.maximumAnswerBytes) else {
                throw OAuth2Error(.responseMalformed, "the response of \(name) is not a JSON object", serverError: nil, status: 200)
            }
            return members
        } catch let error as JSONError {
            throw OAuth2Error(.responseMalformed, "the response of \(name) is not strict JSON", serverError: nil, status: 200, cause: error)
        }
    }

    private func request(_ url: URL, _ parameters: [(name: String, value: String)]) throws -> URLRequest {
        var parameters = parameters
        var names: Set<String> = []
        for (name, _) in parameters {
            guard !["client_id", "client_secret"].contains(name), names.insert(name).inserted else {
                throw OAuth2Error(
                    .configurationError,
                    "the grant has the parameter \(LoggableText.name(name)) twice, or sets what the client sets (client_id, client_secret);"
                        + " remove it"
                )
            }
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        switch client.authentication {
        case .basic: request.setValue(client.basicHeader, forHTTPHeaderField: "Authorization")
        case .body: parameters += [("client_id", client.id), ("client_secret", client.secret?.text ?? "")]
        case .none: parameters.append(("client_id", client.id))
        }
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        request.httpBody = Data(FormText.encode(parameters).utf8)
        return request
    }

    private func exchange(_ request: URLRequest) async throws -> (HTTPURLResponse, [UInt8]) {
        let host = request.url?.host() ?? "the server"
        do {
            let (bytes, head) = try await session.bytes(for: request)
            var body: [UInt8] = []
            for try await part in bytes.chunks {
                guard body.count + part.count <= Self.maximumAnswerBytes else {
                    throw OAuth2Error(
                        .responseMalformed, "the response of \(host) has more than \(Self.maximumAnswerBytes) bytes", serverError: nil,
                        status: head.statusCode)
                }
                body += part
            }
            return (head, body)
        } catch let error as ApproovError {
            throw OAuth2Error(.networkingError, "the request to \(host) failed", cause: error)
        }
    }

    /// The error for an answer that is no success (RFC 6749, section 5.2).
    private func refusal(_ head: HTTPURLResponse, _ body: [UInt8], by name: String) -> OAuth2Error {
        let status = head.statusCode
        if (300..<400).contains(status) {
            return OAuth2Error(
                .responseMalformed, "\(name) answered with a redirect, which is never followed; use the final URL", serverError: nil,
                status: status)
        }
        if status == 408 || status == 429 || status >= 500 {
            var error = OAuth2Error(
                .networkingError, "\(name) answered with status \(status); try again later", serverError: nil, status: status)
            error.retryAfter = head.value(forHTTPHeaderField: "Retry-After").flatMap { RetryAfter.duration($0, now: clock.date) }
            return error
        }
        guard (400..<500).contains(status), Self.isJSON(head),
            case .object(let members)? = try? JSONValue(parsing: body, limit: Self.maximumAnswerBytes),
            case .string(let text)? = members["error"], let error = OAuth2ServerError(received: text)
        else {
            return OAuth2Error(
                .responseMalformed,
                "\(name) answered with status \(status), but not with an OAuth 2 error (RFC 6749, section 5.2); check the endpoint's URL",
                serverError: nil, status: status)
        }
        return OAuth2Error(
            .requestRefused, "\(name) refused the request: \(error)\(error.remedy)", serverError: error, status: status)
    }

    private static func isJSON(_ head: HTTPURLResponse) -> Bool {
        let type = head.value(forHTTPHeaderField: "Content-Type")?.prefix { $0 != ";" }
        return type?.trimmingCharacters(in: .whitespaces).lowercased() == "application/json"
    }
}

extension OAuth2ServerError {
    /// The remedy for the errors of RFC 6749, section 5.2.
    fileprivate var remedy: String {
        switch self {
        case .invalidClient: "; check the client's identifier, secret and authentication"
        case .invalidGrant: "; log in again"
        case .invalidScope: "; ask for another scope"
        case .unauthorizedClient, .unsupportedGrantType: "; allow this grant to the client at the server"
        default: ""
        }
    }
}
