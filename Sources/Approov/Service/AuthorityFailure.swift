import ApproovBase
import Attestation
import HTTPClient

/// Why the authority gave no token or configuration, as statuses tell it.
struct AuthorityFailure: Error {
    let status: TokenFetchStatus
    let error: ApproovError
    /// How long the authority asked to be left alone.
    var retryAfter: Duration?
    /// What the authority called the problem, when it named one.
    var problem: Problem.Name?
    /// The longest that the authority is left alone after failures of this kind, however many there were; nil: not at all.
    var longestWait: Duration?

    init(_ status: TokenFetchStatus, _ error: ApproovError) {
        self.status = status
        self.error = error
        longestWait =
            switch status {
            case .noApproovService: .seconds(60)
            // Somebody is there, and may be the authority again with the next connection.
            case .poorNetwork, .mitmDetected: .seconds(8)
            default: nil
            }
    }

    /// Nothing answered, or not in time, or somebody else did.
    init(_ error: any Error) {
        switch error {
        case let failure as AuthorityFailure: self = failure
        case let error as TransportError: self.init(transport: error)
        case is CancellationError:
            self.init(.poorNetwork, ApproovError(.networkingError, "the authority did not answer in time; try again later"))
        case let error as AttestationError:
            self.init(
                .noApproovService, ApproovError(.networkingError, "what answered for the authority does not speak as one", cause: error))
        default:
            self.init(.internalError, ApproovError(.permanentError, "the authority could not be asked", cause: error))
        }
    }

    private init(transport error: TransportError) {
        switch error.code {
        case .trustRefused:
            self.init(
                .mitmDetected,
                ApproovError(
                    .networkingError, "the authority's server is not trusted: somebody else may be answering, or its keys have changed",
                    cause: error))
        case .hostUnresolved, .connectionFailed, .connectTimeout:
            self.init(.noNetwork, ApproovError(.networkingError, "the authority cannot be reached; try again later", cause: error))
        case .bodyTooLarge, .headerTooLarge, .malformedResponse:
            self.init(
                .noApproovService, ApproovError(.networkingError, "what answered for the authority does not speak as one", cause: error))
        case .idleTimeout, .totalTimeout:
            self.init(.poorNetwork, ApproovError(.networkingError, "the authority did not answer in time; try again later", cause: error))
        case .connectionLost, .tlsFailed:
            self.init(.poorNetwork, ApproovError(.networkingError, "the connection to the authority broke; try again later", cause: error))
        case .tooManyRequests:
            self.init(
                .poorNetwork,
                ApproovError(.networkingError, "too many requests are under way to ask the authority; try again", cause: error))
            // It was not even tried.
            longestWait = nil
        default:
            self.init(.internalError, ApproovError(.permanentError, "the authority could not be asked", cause: error))
        }
    }

    /// The authority answered with a status that is not what was asked for.
    init(httpStatus: Int, problem: Problem?, retryAfter: Duration?) {
        let named = problem.map { ": \(LoggableText.name($0.name.rawValue))" } ?? ""
        if httpStatus == 429 || httpStatus >= 500 {
            self.init(
                .noApproovService,
                ApproovError(.networkingError, "the authority answered \(httpStatus)\(named); try again later", cause: problem))
        } else if problem == nil {
            self.init(
                .noApproovService,
                ApproovError(.networkingError, "what answered for the authority does not speak as one (status \(httpStatus))"))
        } else {
            self.init(
                .internalError,
                ApproovError(.permanentError, "the authority refused the evidence with status \(httpStatus)\(named)", cause: problem))
        }
        self.retryAfter = retryAfter
        self.problem = problem?.name
    }
}
