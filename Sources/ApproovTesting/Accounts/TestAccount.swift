import ApproovBase
public import Attestation
public import Crypto
import Foundation

/// An account whose keys the test holds, so that the test can sign any configuration, without an authority.
///
/// Its configurations are valid at the time that a new ``ManualClock`` shows.
///
///     let account = try TestAccount()
///     let initial = try account.initial()
///     let next = try account.signed(version: 2) { $0.hosts["api.test"]?.enforce = false }
public struct TestAccount: Sendable {
    /// A well-formed pin that no server has.
    public static let pinA = "sha256/" + Base64.encode([UInt8](repeating: 0xA, count: 32))
    /// Another well-formed pin that no server has.
    public static let pinB = "sha256/" + Base64.encode([UInt8](repeating: 0xB, count: 32))
    /// The authority's URL; no server is there.
    public static let authority = "https://authority.test"
    /// When configurations are issued by default, in seconds since 1970.
    public static let issuedAt: Int64 = 1_749_999_000
    /// When configurations expire by default, in seconds since 1970.
    public static let expiresAt: Int64 = 1_760_000_000

    /// The account's name.
    public let name = "test-account"
    /// The key that signs configurations.
    public let key = P256.Signing.PrivateKey()
    /// The root below which the authority's and the hosts' certificates are.
    public let root: TestCertificate

    /// Makes an account with a new key and a new root.
    ///
    /// - Throws: An error when OpenSSL cannot make the root.
    public init() throws {
        root = try TestPKI.root()
    }

    /// Makes a configuration with one pinned host, `api.test`, unless the arguments say otherwise.
    ///
    /// - Parameters:
    ///   - version: The version number.
    ///   - hosts: The host rules, by host name or pattern.
    ///   - issuedAt: When the version is signed, in seconds since 1970.
    ///   - expiresAt: When the version expires, in seconds since 1970.
    ///   - epoch: The generation of the version numbers.
    ///   - managedTrustRoots: The pins for hosts that have none themselves.
    ///   - authorityPins: Pins that replace those of the initial configuration.
    ///   - configKeys: The keys that may sign from the next version on.
    ///   - oblivious: The relay and the gateway's keys.
    ///   - change: Changes the configuration further.
    /// - Returns: The configuration, not yet signed.
    public func configuration(
        version: Int64 = 1, hosts: [String: HostSettings] = ["api.test": .pinned], issuedAt: Int64 = TestAccount.issuedAt,
        expiresAt: Int64 = TestAccount.expiresAt, epoch: Int64 = 1, managedTrustRoots: [String] = [], authorityPins: [String]? = nil,
        configKeys: [PublicJWK]? = nil, oblivious: ObliviousSettings? = nil, change: (inout DynamicConfiguration) -> Void = { _ in }
    ) -> DynamicConfiguration {
        var configuration = DynamicConfiguration(
            account: name, epoch: epoch, version: version, issuedAt: issuedAt, expiresAt: expiresAt, hosts: hosts,
            managedTrustRoots: managedTrustRoots, oblivious: oblivious, authorityPins: authorityPins, configKeys: configKeys)
        change(&configuration)
        return configuration
    }

    /// Signs a configuration with the account's key.
    ///
    /// - Parameter configuration: The configuration.
    /// - Returns: The signed configuration.
    /// - Throws: `AttestationError` when the configuration breaks a rule.
    public func signed(_ configuration: DynamicConfiguration) throws -> SignedConfiguration {
        try SignedConfiguration(signing: configuration, by: [key])
    }

    /// Makes and signs one version.
    ///
    /// - Parameters:
    ///   - version: The version number.
    ///   - keys: The signing keys; nil for the account's key.
    ///   - change: Changes the configuration before it is signed.
    /// - Returns: The signed configuration.
    /// - Throws: `AttestationError` when the configuration breaks a rule.
    public func signed(
        version: Int64, by keys: [P256.Signing.PrivateKey]? = nil, change: (inout DynamicConfiguration) -> Void = { _ in }
    ) throws -> SignedConfiguration {
        try SignedConfiguration(signing: configuration(version: version, change: change), by: keys ?? [key])
    }

    /// Makes the initial configuration that an app of this account ships with.
    ///
    /// - Parameters:
    ///   - configuration: The version inside; nil for the first one.
    ///   - authority: The authority's URL.
    ///   - authorityPins: The authority's pins.
    /// - Returns: The initial configuration, which trusts the account's key and root.
    /// - Throws: `AttestationError` when the configuration breaks a rule; ``TestServerError`` when `authority` is not a URL.
    public func initial(
        _ configuration: DynamicConfiguration? = nil, authority: String = TestAccount.authority,
        authorityPins: [String] = [TestAccount.pinA, TestAccount.pinB]
    ) throws -> InitialConfiguration {
        guard let url = URL(string: authority) else { throw TestServerError("not a URL: \(authority)") }
        let configuration = configuration ?? self.configuration()
        return try InitialConfiguration(
            account: name, epoch: configuration.epoch, authority: url, authorityPins: authorityPins, trustRoots: root.pem,
            configKeys: [PublicJWK(key.publicKey)], configuration: signed(configuration))
    }
}

extension HostSettings {
    /// Settings with the two pins of ``TestAccount``, enforced, with tokens.
    public static var pinned: HostSettings { HostSettings(pins: [TestAccount.pinA, TestAccount.pinB]) }

    /// Returns a copy with changes.
    ///
    /// - Parameter change: Changes the copy.
    /// - Returns: The copy.
    public func with(_ change: (inout HostSettings) -> Void) -> HostSettings {
        var copy = self
        change(&copy)
        return copy
    }
}
