public import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes

extension ApproovError {
    /// The reason why the server was not trusted; nil when the error has another cause.
    public var refusal: TrustRefusal? {
        switch cause {
        case let refusal as TrustRefusal: refusal
        case let error as TransportError: error.refusal
        default: nil
        }
    }

    /// The request may have been sent on an earlier connection, to a server that was trusted.
    fileprivate static let untrusted = "the server is not trusted, and the request was not sent to it"

    /// Converts an error of the transport into an error of the SDK.
    ///
    /// - Parameters:
    ///   - error: The error of the transport.
    ///   - isRepeatable: Whether the whole request, including everything sent for it so far, can be sent again without the server executing
    ///     it twice; nil to use the transport's own statement.
    init(_ error: TransportError, isRepeatable: Bool? = nil) {
        let isRetryable = isRepeatable ?? error.isSafeToRepeat
        switch error.code {
        case .idleTimeout, .totalTimeout:
            let remedy =
                isRetryable
                ? "try again, or allow more time" : "the server may have executed it: check before you send it again, or allow more time"
            self.init(.timedOut, "the request did not end in time; \(remedy)", cause: error, isRetryable: isRetryable)
        case .trustRefused:
            self.init(.pinningError, Self.untrusted, cause: error)
        case .invalidURL, .invalidHeader:
            self.init(.badRequest, "the request cannot be sent", cause: error)
        case .addressRefused:
            self.init(
                .hostNotAllowed,
                "the host's address is not public, and this session's allowedHosts refuses such addresses: check the host's name servers",
                cause: error)
        case .bodyTooLarge, .headerTooLarge:
            self.init(.responseTooLarge, "the response is larger than allowed: see the cause", cause: error)
        case .requestBodyFailed:
            self.init(.bodyFailed, "the request's body could not be read", cause: error)
        case .rulesChanged:
            self.init(
                .networkingError, "the configuration changed while the request was prepared; send it again", cause: error, isRetryable: true
            )
        case .suspended:
            self.init(
                .networkingError, "the request was suspended again and again before it was sent; send it again", cause: error,
                isRetryable: true)
        case .recordingMissing:
            self.init(.recordingMissing, "the request has no recorded response", cause: error)
        case .unsupported:
            self.init(.unsupported, "the transport cannot send this request", cause: error)
        case _ where error.isConnectivity || error.code == .tooManyRequests || error.code == .tlsFailed || error.code == .malformedResponse:
            let remedy = isRetryable ? "try again later" : "the server may have executed the request: check before you send it again"
            self.init(
                .networkingError, "the server could not be reached, or closed the connection early; \(remedy)", cause: error,
                isRetryable: isRetryable)
        default:
            self.init(.permanentError, "the transport failed", cause: error)
        }
    }
}

extension ApproovError {
    /// This error, for a call whose earlier request the server may have executed.
    ///
    /// The error itself may say that its own request was not sent, and can be sent again. That is not true of the whole call.
    fileprivate var notRetryable: ApproovError {
        guard isRetryable else { return self }
        var error = ApproovError(
            code, "the call failed, but the server may have executed one of its requests: check before you repeat the call",
            cause: self, arc: arc, rejectionReasons: rejectionReasons, isRetryable: false)
        error.refusedResponse = refusedResponse
        return error
    }
}

extension Error {
    /// Returns the error as an ``ApproovError``, except a `CancellationError`, which stays as it is.
    ///
    /// - Parameter isRepeatable: Whether the whole request, including everything sent for it so far, can be sent again without the server
    ///   executing it twice; nil to use the error's own statement.
    /// - Returns: An ``ApproovError``, or the `CancellationError`.
    func asApproovError(isRepeatable: Bool? = nil) -> any Error {
        switch self {
        case let error as ApproovError where isRepeatable == false: error.notRetryable
        case is ApproovError, is CancellationError: self
        case let error as TransportError: ApproovError(error, isRepeatable: isRepeatable)
        case let error as TrustRefusal: ApproovError(.pinningError, ApproovError.untrusted, cause: error)
        default: ApproovError(.permanentError, "the request failed; see the cause", cause: self)
        }
    }
}

extension URLRequest {
    /// Whether sending the request twice has the same effect as sending it once (RFC 9110, section 9.2.2).
    var isIdempotent: Bool { HTTPRequest.Method(httpMethod ?? "GET")?.isIdempotent ?? false }
}
