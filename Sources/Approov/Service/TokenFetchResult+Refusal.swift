import ApproovBase

extension TokenFetchResult {
    /// The error for a caller who cannot do without the value.
    var refusal: ApproovError {
        switch status {
        case .success:
            ApproovError(.permanentError, "the policy refused the result of the attestation, which was a success")
        case .noNetwork, .poorNetwork, .noApproovService:
            error ?? ApproovError(.networkingError, "the authority gave no token; try again later")
        case .mitmDetected:
            error
                ?? ApproovError(
                    .networkingError,
                    "the authority's server is not trusted: check for a proxy that intercepts TLS, and the pins in the initial "
                        + "configuration")
        case .rejected:
            ApproovError(.rejectionError, rejection, arc: arc, rejectionReasons: rejectionReasons)
        case .unknownKey, .badKey:
            ApproovError(.permanentError, "no secure string can be obtained (\(status.rawValue))", cause: error)
        case .unknownURL, .unprotectedURL, .badURL, .notInitialized, .disabled, .badPayload, .internalError:
            ApproovError(.permanentError, "no token can be obtained (\(status.rawValue))", cause: error)
        }
    }

    private var rejection: String {
        // Without reasons, all that the app knows is that the authority does not count it as genuine.
        let verdict =
            rejectionReasons.isEmpty
            ? "the attestation failed, or passed only by a development key or the device's policy"
            : "the attestation failed (\(rejectionReasons.map(LoggableText.name).joined(separator: ", ")))"
        return "\(verdict); the account's operator can look up the reason with `approov token -arc \(arc)`"
    }
}
