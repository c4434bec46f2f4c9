internal import ApproovBase
package import Foundation

/// The configuration in force, and the rules for accepting the next one.
///
/// The rules prevent rollback, freezing, configurations of other accounts, and partial updates. This is a value type: accepting a version
/// returns a new state and leaves the old one unchanged. In an app, `ConfigurationKeeper` of the module `Approov` holds it under its lock.
package struct ConfigurationState: Sendable {
    /// The most versions in a stored file: every key change since the initial configuration, and the newest version.
    package static let maximumChainLength = 64
    /// The most bytes of a stored file.
    package static let maximumSerializedBytes = 8 * 1024 * 1024

    /// The configuration in force.
    package private(set) var accepted: DynamicConfiguration
    /// The configuration in force as it was signed.
    package private(set) var acceptedSigned: SignedConfiguration
    /// The versions needed to verify the newest one again, starting from the initial configuration: key changes, then the newest.
    package private(set) var chain: [SignedConfiguration] = []
    /// The latest accepted `issuedAt`, in seconds since 1970; the current time cannot be earlier.
    package private(set) var highestIssuedAt: Int64
    /// The keys that may sign the next version.
    package private(set) var configKeys: [PublicJWK]
    /// The keys that could sign the version in force.
    private var configKeysBefore: [PublicJWK]

    /// Makes the state of an app that has not fetched any configuration.
    ///
    /// - Parameter initial: The initial configuration. The age of the configuration inside does not matter.
    /// - Throws: ``AttestationError`` when the configuration inside is not signed by one of the initial keys, is of another account or
    ///   epoch, or breaks a rule.
    package init(initial: InitialConfiguration) throws(AttestationError) {
        let verified = try inMember("configuration") { () throws(AttestationError) in
            try Self.verify(initial.configuration, by: initial.configKeys, account: initial.account, epoch: initial.epoch)
        }
        accepted = verified
        acceptedSigned = initial.configuration
        highestIssuedAt = verified.issuedAt
        configKeysBefore = initial.configKeys
        configKeys = verified.configKeys ?? initial.configKeys
    }

    /// Restores the state from the bytes of `serializedChain`.
    ///
    /// An expired configuration stays in force: pins never lapse with time.
    ///
    /// - Parameters:
    ///   - initial: The current initial configuration; it may be newer than the one under which the bytes were stored.
    ///   - bytes: The stored bytes.
    ///   - requirement: Called with the newest configuration; an error refuses everything.
    /// - Throws: ``AttestationError`` when the bytes do not verify exactly, starting from the initial configuration; with code `rolledBack`
    ///   when they are older than the initial configuration, and `wrongEpoch` when they say that they are of an earlier epoch, or a known key
    ///   signed them for a later one.
    package init(
        initial: InitialConfiguration, restoring bytes: [UInt8],
        alsoRequiring requirement: (DynamicConfiguration) throws -> Void = { _ in }
    ) throws(AttestationError) {
        let start = try ConfigurationState(initial: initial)
        let stored = try Self.chain(serialized: bytes)
        // Checked before the signatures: a new epoch usually has other keys.
        if let newest = stored.last.flatMap(Self.unverified), newest.account == initial.account, newest.epoch < initial.epoch {
            throw AttestationError(.wrongEpoch, "it claims epoch \(newest.epoch), but the initial configuration has epoch \(initial.epoch)")
        }
        // Start after the last match: after several key changes, the initial keys signed only the latest of them.
        let needed = Array(stored.suffix(from: stored.lastIndex(where: start.includes).map { $0 + 1 } ?? 0))
        guard !needed.isEmpty || stored.last?.payloadBytes == start.acceptedSigned.payloadBytes else {
            throw AttestationError(.rolledBack, "the stored configuration is older than the initial one, which is used instead")
        }
        let now = Date(timeIntervalSince1970: 0)
        self = try start.accepting(needed, now: now, allowExpired: true, alsoRequiring: requirement)
        guard chain == needed else {
            throw AttestationError(.malformedSignature, "the stored configuration contains versions that were not written together")
        }
    }

    /// Whether the configuration in force is past its expiry date; its pins stay in force.
    ///
    /// The initial configuration never expires.
    ///
    /// - Parameter now: The local clock's time; the latest accepted `issuedAt` is used instead if it is later.
    /// - Returns: Whether the configuration is expired.
    public func isExpired(now: Date) -> Bool {
        !chain.isEmpty && Double(accepted.expiresAt) <= max(now.timeIntervalSince1970, Double(highestIssuedAt))
    }

    /// Whether stored bytes that do not verify from the initial configuration may be replaced.
    ///
    /// An app with another initial configuration may have stored them, or they were altered. One authority issues all versions, so once
    /// this app has a higher version, replacing a stored one that claims to be lower loses nothing.
    ///
    /// - Parameter bytes: The stored bytes.
    /// - Returns: Whether their newest version claims the same account and epoch and is either lower or the one in force.
    package func hasOvertaken(stored bytes: [UInt8]) -> Bool {
        guard let newest = (try? Self.chain(serialized: bytes))?.last, let claimed = Self.unverified(newest) else { return false }
        return isNotBehind(newest, claimed)
    }

    /// The possible origin of stored bytes that do not verify from the initial configuration.
    package enum StoredOrigin: Sendable {
        /// Unknown: the bytes are damaged, or their account or epoch is no longer used here.
        case unknown
        /// Allegedly another app of the account: the signature names keys that this app does not know.
        case saidToBeAnotherApp
        /// Another app of the account: a key of the initial configuration signed the bytes for a higher epoch.
        case anotherApp
    }

    /// Returns the possible origin of stored bytes.
    ///
    /// A signature that names a key of the initial configuration but does not verify means damage, not another app.
    ///
    /// - Parameters:
    ///   - bytes: The stored bytes.
    ///   - initial: The initial configuration from which they do not verify.
    /// - Returns: Another app of the account if the bytes are of a higher epoch or signed by other keys.
    package static func origin(ofStored bytes: [UInt8], initial: InitialConfiguration) -> StoredOrigin {
        guard let newest = (try? chain(serialized: bytes))?.last, let configuration = unverified(newest),
            configuration.account == initial.account
        else { return .unknown }
        let known = Set(initial.configKeys.map(\.thumbprint))
        let origins = newest.signatures.indices.map { index -> StoredOrigin in
            guard let kid = newest.signatures[index].kid else { return .unknown }
            guard known.contains(kid) else { return configuration.epoch >= initial.epoch ? .saidToBeAnotherApp : .unknown }
            let isSigned = configuration.epoch > initial.epoch && newest.signer(ofSignatureAt: index, among: initial.configKeys) != nil
            return isSigned ? .anotherApp : .unknown
        }
        guard !origins.contains(.unknown) else { return .unknown }
        return origins.contains(.anotherApp) ? .anotherApp : .saidToBeAnotherApp
    }

    /// Accepts newer versions.
    ///
    /// - Parameters:
    ///   - candidates: The versions that change keys, then the newest, in order. Either all are accepted or none. A version with the same
    ///     payload as the one in force changes nothing.
    ///   - now: The local clock's time, read once for the whole list.
    ///   - allowExpired: Whether the newest version may be past its expiry date.
    ///   - requirement: Called with the newest configuration after all other checks; an error refuses everything.
    /// - Returns: The state after the newest version.
    /// - Throws: ``AttestationError`` naming the broken rule.
    package func accepting(
        _ candidates: [SignedConfiguration], now: Date, allowExpired: Bool = false,
        alsoRequiring requirement: (DynamicConfiguration) throws -> Void = { _ in }
    ) throws(AttestationError) -> ConfigurationState {
        // The time is not before the latest accepted `issuedAt`, whatever the local clock says. Fixed before the first candidate can raise
        // it.
        let time = max(now.timeIntervalSince1970, Double(highestIssuedAt))
        var next = self
        for (index, candidate) in candidates.enumerated() {
            next = try inMember("configurations[\(index)]") { () throws(AttestationError) in try next.following(candidate) }
        }
        guard next.acceptedSigned != acceptedSigned else { return self }
        guard allowExpired || Double(next.accepted.expiresAt) > time else {
            throw AttestationError(
                .expired, "version \(next.accepted.version) has expired, so the authority must issue a new one; check both clocks")
        }
        guard next.chain.count <= Self.maximumChainLength, next.serializedChain?.count ?? 0 <= Self.maximumSerializedBytes else {
            throw AttestationError(
                .tooLarge, "there were too many key changes since the initial configuration; ship the app with a new initial configuration")
        }
        do {
            try requirement(next.accepted)
        } catch let error as AttestationError {
            throw error
        } catch {
            throw AttestationError(.malformedConfiguration, "version \(next.accepted.version) cannot be used", cause: error)
        }
        return next
    }

    /// Whether this state has all key changes of the other state and more.
    ///
    /// A retired key then signed the other state's version.
    package func hasLaterKeys(than other: ConfigurationState) -> Bool {
        keyChanges.count > other.keyChanges.count && keyChanges.starts(with: other.keyChanges)
    }

    private var keyChanges: ArraySlice<SignedConfiguration> { accepted.configKeys == nil ? chain.dropLast() : chain[...] }

    /// Whether a version is in force, or leads to the version in force.
    package func contains(_ version: SignedConfiguration) -> Bool { version == acceptedSigned || chain.contains(version) }

    /// Whether the versions of another state follow the version in force: the keys of that version signed them, not only the keys of the
    /// initial configuration.
    ///
    /// - Parameter other: A state with a higher version and the same initial configuration.
    /// - Returns: Whether this state accepts it.
    package func isFollowed(by other: ConfigurationState) -> Bool {
        let known = other.chain.lastIndex(where: contains)
        let further = other.chain.suffix(from: known.map { $0 + 1 } ?? 0)
        return (try? accepting(Array(further), now: Date(timeIntervalSince1970: 0), allowExpired: true)) != nil
    }

    /// The bytes to store: one JWS, or an array of several if keys changed since the initial configuration.
    ///
    /// Nil until a version has been accepted.
    package var serializedChain: [UInt8]? {
        guard let newest = chain.last else { return nil }
        return chain.count == 1 ? newest.serialized : JSONValue.array(chain.map(\.json)).serialized()
    }

    private func following(_ candidate: SignedConfiguration) throws(AttestationError) -> ConfigurationState {
        if candidate.payloadBytes == acceptedSigned.payloadBytes {
            _ = try Self.verify(candidate, by: configKeysBefore, account: accepted.account, epoch: accepted.epoch)
            return self
        }
        let configuration = try Self.verify(candidate, by: configKeys, account: accepted.account, epoch: accepted.epoch)
        guard configuration.version != accepted.version else {
            throw AttestationError(.conflictingVersion, "it has the version \(accepted.version), which is in force with other content")
        }
        guard configuration.version > accepted.version else {
            throw AttestationError(
                .rolledBack, "version \(configuration.version) is older than version \(accepted.version), which is in force")
        }
        var next = self
        if !Self.changesKeys(accepted, after: configKeysBefore) { next.chain = Array(chain.dropLast()) }
        next.chain.append(candidate)
        next.accepted = configuration
        next.acceptedSigned = candidate
        next.highestIssuedAt = max(highestIssuedAt, configuration.issuedAt)
        next.configKeysBefore = configKeys
        next.configKeys = configuration.configKeys ?? configKeys
        return next
    }

    private static func changesKeys(_ configuration: DynamicConfiguration, after keys: [PublicJWK]) -> Bool {
        configuration.configKeys.map { Set($0) != Set(keys) } ?? false
    }

    /// Verifies the signatures over the bytes as received, and parses the payload only if a key that may sign has signed it.
    private static func verify(
        _ signed: SignedConfiguration, by keys: [PublicJWK], account: String, epoch: Int64
    ) throws(AttestationError) -> DynamicConfiguration {
        let known = signed.signatures.indices.map { signed.signer(ofSignatureAt: $0, among: keys) }
        guard known.contains(where: { $0 != nil }) else {
            throw AttestationError(.unknownSigner, unknownSigner(of: signed, epoch: epoch))
        }
        let value = try JSONValue(reading: signed.payloadBytes, limit: DynamicConfiguration.maximumBytes)
        let configuration = try DynamicConfiguration(json: value)
        guard configuration.account == account else {
            throw AttestationError(.wrongAccount, "it is not for the account \(LoggableText.name(account))")
        }
        guard configuration.epoch == epoch else {
            throw AttestationError(.wrongEpoch, "it is for epoch \(configuration.epoch), not \(epoch)")
        }
        let newKeys = configuration.configKeys ?? keys
        var signers: [PublicJWK] = []
        for index in signed.signatures.indices {
            guard let signer = known[index] ?? signed.signer(ofSignatureAt: index, among: newKeys) else {
                throw AttestationError(.unknownSigner, "an unknown key made one of the signatures, or the configuration was altered")
            }
            signers.append(signer)
        }
        guard Set(signers).count == signers.count else {
            throw AttestationError(.malformedSignature, "one key signed it twice; each key counts once")
        }
        if changesKeys(configuration, after: keys) {
            let old = Set(keys)
            let new = Set(newKeys)
            guard signers.count == 2,
                old.contains(signers[0]) && new.contains(signers[1]) || new.contains(signers[0]) && old.contains(signers[1])
            else {
                throw AttestationError(
                    .missingKeyChangeSignature, "it changes configKeys; sign it with one of the old keys and one of the new keys")
            }
        }
        return configuration
    }

    /// Says why a signature may be unknown: each epoch has other keys.
    ///
    /// The epoch in the payload is a claim that nothing proves.
    private static func unknownSigner(of signed: SignedConfiguration, epoch: Int64) -> String {
        guard let claimed = unverified(signed)?.epoch, claimed != epoch else {
            return "no known key signed the configuration, or it was altered"
        }
        return claimed < epoch
            ? "it says that it is of the earlier epoch \(claimed), and no key of epoch \(epoch) signed it"
            : "it says that it is of the later epoch \(claimed), whose keys this app does not know: ship the app with a new initial "
                + "configuration (approov sdk -getConfig FILE)"
    }

    /// Whether the initial configuration supersedes a stored version: one of the initial keys signed it, and it is not newer.
    private func includes(_ stored: SignedConfiguration) -> Bool {
        guard stored.signatures.indices.contains(where: { stored.signer(ofSignatureAt: $0, among: configKeysBefore) != nil }),
            let configuration = Self.unverified(stored)
        else { return false }
        return isNotBehind(stored, configuration)
    }

    private func isNotBehind(_ stored: SignedConfiguration, _ configuration: DynamicConfiguration) -> Bool {
        configuration.account == accepted.account && configuration.epoch == accepted.epoch
            && (configuration.version < accepted.version || stored.payloadBytes == acceptedSigned.payloadBytes)
    }

    /// Parses the payload without verifying it.
    private static func unverified(_ signed: SignedConfiguration) -> DynamicConfiguration? {
        guard let value = try? JSONValue(reading: signed.payloadBytes, limit: DynamicConfiguration.maximumBytes) else { return nil }
        return try? DynamicConfiguration(json: value)
    }

    private static func chain(serialized bytes: [UInt8]) throws(AttestationError) -> [SignedConfiguration] {
        let value = try JSONValue(reading: bytes, limit: maximumSerializedBytes)
        guard value.serialized() == bytes else {
            throw AttestationError(.malformedSignature, "the stored configuration was changed after it was written")
        }
        guard case .array(let elements) = value else { return [try SignedConfiguration(json: value)] }
        guard (2...maximumChainLength).contains(elements.count) else {
            throw AttestationError(.malformedSignature, "the stored configuration was changed after it was written")
        }
        var chain: [SignedConfiguration] = []
        for (index, element) in elements.enumerated() {
            chain.append(try inMember("[\(index)]") { () throws(AttestationError) in try SignedConfiguration(json: element) })
        }
        return chain
    }
}
