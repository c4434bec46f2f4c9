/// How a token fetch ended, with the names and in the order of the original Approov SDK.
///
/// `notInitialized`, `disabled`, `unknownKey` and `badKey` exist for code written against the original; this package never returns them.
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
    /// The attestation failed, and the account's policy tells the app why.
    case rejected
    /// The account's tokens are switched off.
    case disabled
    /// No secure string has this name.
    case unknownKey
    /// The name of a secure string is malformed.
    case badKey
    /// The binding is empty, or a custom token's payload is malformed.
    case badPayload
    /// The client could not make evidence, or the authority refused it.
    case internalError
}
