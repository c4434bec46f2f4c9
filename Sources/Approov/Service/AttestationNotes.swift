import ApproovBase
import Attestation

/// What a service keeps of its attestations beside the tokens.
struct AttestationNotes: Sendable {
    let heardAt = LastHeard()
    let accountKey = AccountKey()
    let strings: SecureStrings

    /// Takes up what an attestation brought.
    ///
    /// For an oblivious host the authority sends neither the account's key nor strings, so those of earlier attestations stay. A result
    /// that finds the app not genuine takes the strings away, whatever its host.
    ///
    /// - Parameters:
    ///   - result: The authority's answer.
    ///   - fetched: The same for the caller.
    ///   - isOblivious: Whether the host was oblivious before the attestation or is so after it.
    ///   - life: The life of the attestation.
    ///   - now: The uptime.
    func note(_ result: AttestationResult, as fetched: TokenFetchResult, isOblivious: Bool, _ life: TokenLife, at now: Duration) {
        heardAt.note(now)
        if !isOblivious || !fetched.isGenuine { strings.note(result.secureStrings, of: fetched, life) }
        if !isOblivious { accountKey.note(result.messageSigningKey, since: life.since) }
    }
}
