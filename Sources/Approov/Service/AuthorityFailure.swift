import ApproovBase
import Attestation
import CertificatePinning
import HTTPClient

/// The failure of an exchange with the authority, translated to a status for the caller.
struct AuthorityFailure: Error {
    let status: TokenFetchStatus
    let error: ApproovError
    /// The pause that the authority asked for.
    var retryAfter: Duration?
    /// The authority's name for the problem, if it gave one.
    var problem: Problem.Name?
    /// The longest pause after repeated failures of this kind; nil for no pause.
    var longestWait: Duration?

    init(_ status: TokenFetchStatus, _ error: ApproovError) {
        self.status = status
        self.error = error
        longestWait =
            switch status {
            case .noApproovService: .seconds(60)
            // A server is there, and the next connection may reach the authority again.
            case .poorNetwork, .mitmDetected: .seconds(8)
            default: nil
            }
    }

    /// Translates an error of the transport, of parsing or of cancellation.
    init(_ error: any Error) {
        switch error {
        case let failure as AuthorityFailure: self = failure
        case let error as TransportError: self.init(transport: error)
        case is CancellationError:
            self.init(.poorNetwork, ApproovError(.networkingError, "the authority did not answer in time; try again later"))
        case let error as AttestationError:
            self = .notAnAuthority("its response is malformed", cause: error)
        default:
            self.init(.internalError, .requestNotMade(cause: error))
        }
    }

    /// The failure of an exchange with a server that is not a working authority.
    ///
    /// - Parameters:
    ///   - reason: The problem with the response.
    ///   - cause: The underlying error.
    /// - Returns: The failure.
    static func notAnAuthority(_ reason: String, cause: (any Error)? = nil) -> AuthorityFailure {
        let message = "the server at the authority's URL is not an Approov authority: \(reason); check the URL and any proxy in between"
        return AuthorityFailure(.noApproovService, ApproovError(.networkingError, message, cause: cause))
    }

    /// The failure to get a token for a host that gets none.
    ///
    /// - Parameters:
    ///   - host: The host.
    ///   - configuration: The configuration, which has no entry for the host, or one without tokens.
    /// - Returns: The failure.
    static func noTokens(for host: CanonicalHost, under configuration: ConfigurationSnapshot) -> AuthorityFailure {
        guard configuration.protectedHost(for: host) != nil else {
            return AuthorityFailure(
                .unknownURL,
                ApproovError(
                    .permanentError,
                    "the configuration has no entry for \(host): the account's operator must add the host with `approov api -add`"))
        }
        return AuthorityFailure(
            .unprotectedURL,
            ApproovError(
                .permanentError, "the account issues no tokens for \(host): its operator must add the host again without -noApproovToken"))
    }

    private init(transport error: TransportError) {
        switch error.code {
        case .trustRefused:
            self.init(
                .mitmDetected,
                ApproovError(
                    .networkingError,
                    "the authority's server is not trusted: another server may be answering, or the authority has new keys; in that case "
                        + "ship the new initial configuration (approov sdk -getConfig)",
                    cause: error))
        case .hostUnresolved, .connectionFailed, .connectTimeout:
            self.init(.noNetwork, ApproovError(.networkingError, "the authority cannot be reached; try again later", cause: error))
        case .bodyTooLarge, .headerTooLarge, .malformedResponse:
            self = .notAnAuthority("its response is malformed", cause: error)
        case .idleTimeout, .totalTimeout:
            self.init(.poorNetwork, ApproovError(.networkingError, "the authority did not answer in time; try again later", cause: error))
        case .connectionLost, .tlsFailed:
            self.init(.poorNetwork, ApproovError(.networkingError, "the connection to the authority broke; try again later", cause: error))
        case .tooManyRequests:
            self.init(
                .poorNetwork,
                ApproovError(
                    .networkingError, "too many requests are under way, so the authority was not asked; try again later", cause: error))
            // The request was never sent, so this says nothing about the authority.
            longestWait = nil
        default:
            self.init(.internalError, .requestNotMade(cause: error))
        }
    }

    /// Translates an answer with an unexpected status.
    init(httpStatus: Int, problem: Problem?, retryAfter: Duration?) {
        let named = problem.map { ": \(LoggableText.name($0.name.rawValue))" } ?? ""
        if httpStatus == 429 || httpStatus >= 500 {
            self.init(
                .noApproovService,
                ApproovError(.networkingError, "the authority answered \(httpStatus)\(named); try again later", cause: problem))
        } else if problem == nil {
            self = .notAnAuthority("it answered \(httpStatus)")
        } else if problem?.name == .disabled {
            self.init(
                .disabled,
                ApproovError(
                    .permanentError, "the account issues no custom JWTs: switch them on with `approov customjwt -enable on`",
                    cause: problem))
        } else if problem?.name == .badPayload {
            self.init(.badPayload, ApproovError(.badRequest, "the authority refused the claims of the custom JWT", cause: problem))
        } else if problem?.name == .unknownHost {
            self.init(
                .internalError,
                ApproovError(
                    .permanentError,
                    "the authority issues no tokens for this host: the account's operator must add it with `approov api -add`, without "
                        + "-noApproovToken",
                    cause: problem))
        } else {
            self.init(
                .internalError,
                ApproovError(.permanentError, "the authority refused the evidence with status \(httpStatus)\(named)", cause: problem))
        }
        self.retryAfter = retryAfter
        self.problem = problem?.name
    }
}

extension ApproovError {
    fileprivate static func requestNotMade(cause: any Error) -> ApproovError {
        ApproovError(.permanentError, "the request to the authority could not be made", cause: cause)
    }
}
