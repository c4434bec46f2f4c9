public import CertificatePinning
import HTTPClient

extension ApproovError {
    /// Why the server was not trusted, when that is the cause.
    public var refusal: TrustRefusal? {
        switch cause {
        case let refusal as TrustRefusal: refusal
        case let error as TransportError: error.refusal
        default: nil
        }
    }

    /// What a caller of the SDK is told about a failure of the transport.
    init(_ error: TransportError) {
        switch error.code {
        case .trustRefused:
            self.init(.pinningError, "the server is not trusted and the request was not sent", cause: error)
        case .invalidURL, .invalidHeader:
            self.init(.badRequest, "the request cannot be sent", cause: error)
        case .bodyTooLarge, .headerTooLarge:
            self.init(.responseTooLarge, "the response is larger than allowed", cause: error)
        case .requestBodyFailed:
            self.init(.bodyFailed, "the request's body could not be read", cause: error)
        case .unsupported:
            self.init(.unsupported, "the transport cannot send this request", cause: error)
        case _ where error.isConnectivity || error.code == .tooManyRequests || error.code == .tlsFailed || error.code == .malformedResponse:
            self.init(.networkingError, "the server could not be reached, or broke off; try again later", cause: error)
        default:
            self.init(.permanentError, "the transport failed", cause: error)
        }
    }

    /// Makes an error of the SDK out of any other; cancellation stays what it is.
    static func wrapping(_ error: any Error) -> any Error {
        switch error {
        case let error as ApproovError: error
        case let error as TransportError: ApproovError(error)
        case let error as TrustRefusal: ApproovError(.pinningError, "the server is not trusted and the request was not sent", cause: error)
        case is CancellationError: error
        default: ApproovError(.permanentError, "the request failed", cause: error)
        }
    }
}
