/// Why a response has no key configurations; the cause of an ``ApproovError``.
///
/// Keys that were fetched and cannot be used are an ``ApproovError`` with code ``ApproovError/Code/obliviousError``, whose cause says why.
public enum KeyConfigurationFailure: Error, Equatable, Sendable {
    /// The server answered with another status than 200.
    case unexpectedStatus(Int)
    /// The response is not `application/ohttp-keys`.
    case unexpectedMediaType
}
