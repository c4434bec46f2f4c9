import Attestation

/// The secure strings that a genuine app may use now: the account's, and the app's own.
struct SecureStringSource: Sendable {
    /// How a look-up ended.
    struct Found: Sendable {
        /// The status, for the policy; it has no token and no value.
        let result: TokenFetchResult
        /// The value; nil unless the status is `success`.
        var value: String?
        /// Whether the app set the string, so that its value may identify the installation.
        var isOwn = false
    }

    /// The attestation that found the app genuine, or the failure because of which there are no strings.
    let attestation: TokenFetchResult
    /// The account's strings; nil if the app is not genuine, or this is not known.
    let predefined: [String: String]?
    /// The app's own strings; nil if it has set none.
    let own: InstanceStrings.Contents?

    /// Looks up a string; the app's own comes before one of the account.
    ///
    /// - Throws: ``ApproovError`` with code `secureStringError` when the app's own string cannot be opened.
    func find(_ key: String) throws(ApproovError) -> Found {
        guard SecureStringRules.isKey(key) else { return .malformed }
        guard let predefined else { return Found(result: attestation) }
        if let value = try own?.value(for: key) { return Found(result: attestation.with(.success), value: value, isOwn: true) }
        guard let value = predefined[key] else { return Found(result: attestation.with(.unknownKey)) }
        return Found(result: attestation.with(.success), value: value)
    }
}

extension SecureStringSource.Found {
    /// The result for a malformed key, which needs no attestation.
    static var malformed: Self { Self(result: TokenFetchResult(status: .badKey, error: .badKey)) }
}
