/// How the fetch of a token ended, in the order and with the names of the original SDK.
///
/// `notInitialized`, `disabled`, `unknownKey` and `badKey` are there for code written against the original; no fetch of this package ends
/// with them.
public enum TokenFetchStatus: String, Sendable, CaseIterable {
    /// There is a token. Whether it verifies is for the API to find out: a failed attestation normally looks like this too.
    case success
    /// Nobody answered at the authority's address.
    case noNetwork
    /// The authority's certificate was refused: somebody else may be answering in its place.
    case mitmDetected
    /// The authority was reached, but it was too slow or the connection broke.
    case poorNetwork
    /// Something answered, but not as an authority in working order does.
    case noApproovService
    /// The URL is not an https URL.
    case badURL
    /// The configuration says nothing about the host.
    case unknownURL
    /// The configuration says that the host gets no tokens.
    case unprotectedURL
    /// The service was not set up.
    case notInitialized
    /// The attestation failed, and the account's policy lets the app know why.
    case rejected
    /// The account's tokens are switched off.
    case disabled
    /// No such secure string.
    case unknownKey
    /// The name of a secure string is malformed.
    case badKey
    /// The binding is empty, or the payload of a custom token is malformed.
    case badPayload
    /// Evidence could not be made, or the authority refused it as malformed.
    case internalError
}
