/// How a token fetch ended, with the names and in the order of Approov's own SDK.
///
/// `disabled` concerns custom JWTs alone, and `unknownKey` and `badKey` secure strings. `notInitialized` exists for code written against
/// that SDK; this package never returns it.
public enum TokenFetchStatus: String, Sendable, CaseIterable {
    /// The fetch brought a token.
    ///
    /// Only the API can tell whether it verifies: a failed attestation normally has this status too.
    case success
    /// The authority's host could not be resolved or connected to.
    case noNetwork
    /// The authority's certificate was refused: another server may be answering in its place.
    case mitmDetected
    /// The authority was reached, but it was too slow or the connection broke.
    case poorNetwork
    /// A server answered, but not as a working authority does, or the authority asked the client to wait.
    case noApproovService
    /// The URL is not an https URL.
    case badURL
    /// The configuration does not name the host.
    case unknownURL
    /// The configuration gives the host no tokens.
    case unprotectedURL
    /// The service was not set up.
    case notInitialized
    /// The attestation failed, and the account's policy tells the app why; or the app is not genuine, but wants what only genuine apps get.
    case rejected
    /// The account issues no custom JWTs.
    case disabled
    /// No secure string has this key.
    case unknownKey
    /// The key of a secure string is malformed.
    case badKey
    /// The binding is empty, or the claims of a custom JWT are malformed.
    case badPayload
    /// The client could not make evidence, or the authority refused it.
    case internalError

    /// The letters of a wire name.
    public enum LetterCase: Sendable, Hashable {
        /// Upper case: `NO_NETWORK`.
        case upper
        /// Lower case: `no_network`.
        case lower
    }

    /// The name of the status as Approov's own SDK sends it in place of a token, such as `NO_NETWORK`.
    public var wireName: String { wireName(.upper) }

    /// The name of the status as Approov's own SDK sends it in place of a token.
    ///
    /// - Parameter letterCase: The letters; releases of Approov's own SDK before 3.8 use upper case.
    /// - Returns: The name, such as `NO_NETWORK` or `no_network`.
    public func wireName(_ letterCase: LetterCase) -> String {
        let name =
            switch self {
            case .success: "success"
            case .noNetwork: "no_network"
            case .mitmDetected: "mitm_detected"
            case .poorNetwork: "poor_network"
            case .noApproovService: "no_approov_service"
            case .badURL: "bad_url"
            case .unknownURL: "unknown_url"
            case .unprotectedURL: "unprotected_url"
            case .notInitialized: "not_initialized"
            case .rejected: "rejected"
            case .disabled: "disabled"
            case .unknownKey: "unknown_key"
            case .badKey: "bad_key"
            case .badPayload: "bad_payload"
            case .internalError: "internal_error"
            }
        return letterCase == .upper ? name.uppercased() : name
    }
}
