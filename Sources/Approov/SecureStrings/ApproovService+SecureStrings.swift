import ApproovBase
import Attestation
import CertificatePinning

/// Secure strings: secrets that only a genuine app gets.
extension ApproovService {
    /// Returns a secure string: one that the app has set, or one of the account (`approov secstrings`).
    ///
    /// The app gets a string only while its newest attestation found it genuine; if there is none, this call attests. A build that passes by
    /// a development key or by its device's policy does not count as genuine. The account's strings are kept in memory alone, and as long
    /// as the attestation that brought them: a change at the authority reaches a running app within a token's life.
    ///
    /// Do not keep the value: ask again for each use. To send it to an API, name a placeholder in a ``Substitution`` instead.
    ///
    /// - Parameters:
    ///   - key: The string's key: 1 to 64 visible ASCII characters.
    ///   - policy: Decides about the result.
    /// - Returns: The value; nil if no string has this key.
    /// - Throws: ``ApproovError`` with code `networkingError` when the authority cannot be reached or does not work, `rejectionError` when
    ///   the app is not genuine, `permanentError` when the key is malformed or no host gets tokens, and `secureStringError` when the app's
    ///   own strings cannot be read; `interceptorError` when the policy threw; `CancellationError` when the task is cancelled.
    public func secureString(_ key: String, policy: any AttestationPolicy = StandardPolicy()) async throws -> String? {
        let found = try await secureStrings(for: [key], preferring: nil).find(key)
        try Task.checkCancellation()
        let decision: TokenDecision
        do {
            decision = try await policy.decide(found.result, forSecureString: key, in: nil)
        } catch {
            throw PolicyHooks.explained(error, of: policy)
        }
        if found.value != nil { try checkIsGenuine() }
        // Without the value the caller gets nil, whatever the policy would send in its place.
        return try decision.sendsWithout(found.result, hasValue: found.value != nil) == nil ? found.value : nil
    }

    /// Sets a secure string that the app itself provides; it takes precedence over the account's string with the same key.
    ///
    /// The service seals the value with a key of this installation and keeps it in the file `secure-strings` of the state directory. The
    /// app gets it back only while it is genuine. This protects a copy of the file, such as a backup without the installation key; it does
    /// not protect against a person who can read the whole state directory.
    ///
    /// A request to an oblivious host never carries such a value, because it may tell installations apart.
    ///
    /// - Parameters:
    ///   - value: The value: 1 to 4,096 bytes of UTF-8 without CR, LF and NUL.
    ///   - key: The string's key: 1 to 64 visible ASCII characters. It is stored in the clear.
    /// - Throws: ``ApproovError`` with code `secureStringError` when key or value is not allowed, the app already has 64 strings, or the file
    ///   cannot be read or written; with code `unsupported` when the service's attester has no secret key.
    public func setSecureString(_ value: String, for key: String) throws { try strings.instance.set(value, for: key) }

    /// Removes a secure string that the app has set.
    ///
    /// - Parameter key: The string's key.
    /// - Returns: Whether there was one.
    /// - Throws: ``ApproovError`` as ``setSecureString(_:for:)`` does.
    @discardableResult
    public func removeSecureString(_ key: String) throws -> Bool { try strings.instance.remove(key) }

    /// Returns the strings that the app may use now; attests if it must.
    ///
    /// - Parameters:
    ///   - keys: The keys to be looked up; without a well-formed one there is nothing to attest for.
    ///   - host: The host to attest for; nil, or an oblivious one, for any host.
    /// - Returns: The strings, or why there are none.
    /// - Throws: ``ApproovError`` with code `secureStringError` when the app's own strings cannot be read.
    func secureStrings(for keys: [String], preferring host: TokenKey?) async throws(ApproovError) -> SecureStringSource {
        guard keys.contains(where: SecureStringRules.isKey) else {
            return SecureStringSource(attestation: TokenFetchResult(status: .badKey), predefined: nil, own: nil)
        }
        let (verdict, failure) = await strings.verdict { [self] in await attestForStrings(preferring: host) }
        switch verdict {
        case .genuine(let predefined, let attestation):
            return SecureStringSource(attestation: attestation, predefined: predefined, own: try strings.instance.read())
        case .rejected(let attestation):
            return SecureStringSource(attestation: attestation.rejected, predefined: nil, own: nil)
        case .unknown:
            return SecureStringSource(attestation: failure, predefined: nil, own: nil)
        }
    }

    /// Checks that the attestation still holds, after a policy was asked, which may take its time.
    ///
    /// - Throws: ``ApproovError`` with code `secureStringError` when its life is over, or a later one failed.
    func checkIsGenuine() throws(ApproovError) {
        guard case .genuine = strings.verdict else {
            throw ApproovError(
                .secureStringError, "the attestation that brought the secure strings ended while the policy was asked; try again",
                isRetryable: true)
        }
    }

    private func attestForStrings(preferring host: TokenKey?) async -> TokenFetchResult {
        // A second attempt only where the host turned out to be an oblivious one.
        var result = TokenFetchResult(status: .unknownURL, error: .noNamedHost)
        for _ in 0..<2 {
            guard let key = host.flatMap(current) ?? keyOfAnyHost else { return result }
            guard !key.isOblivious else {
                return TokenFetchResult(
                    status: .unknownURL,
                    error: ApproovError(
                        .permanentError,
                        "the authority sends no secure strings for oblivious hosts, and the configuration names no other host that gets"
                            + " tokens: add one with `approov api -add`"))
            }
            result = await fetchOnce(key, AttestationDemand())
            guard result.status == .success, case .unknown = strings.verdict else { break }
        }
        return result
    }

    /// The key under the configuration in force; nil if the host now is oblivious, or gets no tokens.
    private func current(_ key: TokenKey) -> TokenKey? {
        guard let host = try? CanonicalHost(key.host), let entry = keeper.current.protectedHost(for: host), entry.settings.attested,
            !entry.settings.oblivious
        else { return nil }
        return TokenKey(host: host, entry: entry, binding: nil)
    }
}
