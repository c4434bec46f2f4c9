import ApproovBase
import Attestation
import CertificatePinning
import Foundation

/// An immutable configuration, compiled for use by requests.
///
/// Each request uses one snapshot throughout, so it sees either the old or the new configuration and never a mixture.
final class ConfigurationSnapshot: Sendable {
    let configuration: DynamicConfiguration
    /// The base64url of the SHA-256 of its payload.
    let payloadHash: String
    /// The account's hosts and host patterns, sorted by name.
    let protectedHosts: [ProtectedHost]
    private let hosts: HostMap<ProtectedHost>
    /// The route to oblivious hosts; nil if the configuration has none.
    let obliviousRoute: ObliviousRoute?
    /// The trust policy for connections to the authority.
    let authorityPolicy: TrustPolicy

    /// Compiles a configuration.
    ///
    /// - Parameters:
    ///   - state: The state whose accepted configuration is compiled.
    ///   - initial: The initial configuration.
    ///   - authorityAnchors: The roots that the authority's certificate may chain to.
    ///   - forwarder: Receives the trust refusals of connections to the authority.
    ///   - previous: The snapshot in force before. If the authority's pins are unchanged, its authority policy is kept, and with it the
    ///     open connections.
    /// - Throws: `PinningError` or ``ApproovError`` naming the part that does not parse.
    init(
        _ state: ConfigurationState, initial: InitialConfiguration, authorityAnchors: TrustAnchors,
        forwarder: AuthorityViolationForwarder = AuthorityViolationForwarder(), previous: ConfigurationSnapshot? = nil
    ) throws {
        let configuration = state.accepted
        self.configuration = configuration
        payloadHash = state.acceptedSigned.payloadHash
        protectedHosts = try Self.compile(configuration, initial: initial)
        hosts = try HostMap(protectedHosts.map { ($0.pattern, $0) })
        obliviousRoute = try Self.obliviousRoute(configuration)
        if let previous, previous.configuration.authorityPins == configuration.authorityPins {
            authorityPolicy = previous.authorityPolicy
        } else {
            let host = try Self.authorityHost(of: initial)
            let pins = try Self.authorityPins(configuration, initial: initial)
            let noted = PinViolation.ObservedHost(authority: host, pins: pins.sorted { $0.description < $1.description })
            let rule = TrustRule(
                evaluators: [try PublicKeysTrustEvaluator(pins: pins)], anchors: authorityAnchors, observer: forwarder.observer(for: noted))
            let pattern = HostPattern(host)
            authorityPolicy = TrustPolicy(
                rules: try HostMap([(pattern, rule)]), defaultAnchors: authorityAnchors, refusesUnmatchedHosts: true)
        }
    }

    /// The account's entry for a host; nil if the configuration does not name it.
    func protectedHost(for host: CanonicalHost) -> ProtectedHost? { hosts.value(for: host) }

    /// Whether the other snapshot has the same host rules, so that connections opened under it remain usable.
    func hasSameHosts(as other: ConfigurationSnapshot) -> Bool {
        configuration.hosts == other.configuration.hosts
            && configuration.managedTrustRoots == other.configuration.managedTrustRoots
    }

    /// Checks that a configuration compiles.
    ///
    /// - Parameters:
    ///   - configuration: The configuration to check.
    ///   - initial: The initial configuration.
    /// - Throws: `PinningError` or ``ApproovError`` naming the part that does not parse.
    static func check(_ configuration: DynamicConfiguration, initial: InitialConfiguration) throws {
        _ = try HostMap(compile(configuration, initial: initial).map { ($0.pattern, $0) })
        _ = try obliviousRoute(configuration)
        _ = try PublicKeysTrustEvaluator(pins: authorityPins(configuration, initial: initial))
        _ = try authorityHost(of: initial)
        if let roots = initial.trustRoots { _ = try TrustAnchors(pem: roots) }
    }

    private static func compile(_ configuration: DynamicConfiguration, initial: InitialConfiguration) throws -> [ProtectedHost] {
        let managedRoots = try Set(configuration.managedTrustRoots.map { try Pin($0) })
        let isDemo = usesDemoKeys(configuration, initial: initial)
        // Sorted, so that the same error is reported every time if several entries are wrong.
        return try configuration.hosts.sorted { $0.key < $1.key }.map { name, settings in
            do {
                let host = try ProtectedHost(name: name, settings: settings, managedRoots: managedRoots)
                guard !isDemo || host.isLoopback else { throw demoRefusal }
                return host
            } catch {
                throw ApproovError(.configurationError, "the entry for the host \(LoggableText.name(name)) cannot be used", cause: error)
            }
        }
    }

    private static func obliviousRoute(_ configuration: DynamicConfiguration) throws -> ObliviousRoute? {
        do {
            return try configuration.oblivious.map { try ObliviousRoute($0) }
        } catch {
            throw ApproovError(.configurationError, "relay and keys for oblivious hosts cannot be used", cause: error)
        }
    }

    private static func authorityPins(_ configuration: DynamicConfiguration, initial: InitialConfiguration) throws -> Set<Pin> {
        try Set((configuration.authorityPins ?? initial.authorityPins).map { try Pin($0) })
    }

    private static func authorityHost(of initial: InitialConfiguration) throws -> CanonicalHost {
        let host = try CanonicalHost(initial.authority.host(percentEncoded: true) ?? "")
        guard !initial.usesDemoKeys || host.isLoopback else { throw demoRefusal }
        return host
    }

    private static func usesDemoKeys(_ configuration: DynamicConfiguration, initial: InitialConfiguration) -> Bool {
        initial.usesDemoKeys || (configuration.configKeys ?? []).contains { DemoKeys.isDemo(jwkThumbprint: $0.thumbprint) }
    }

    private static var demoRefusal: ApproovError {
        ApproovError(
            .configurationError,
            "it is signed with the demo account's keys, which are public: they are accepted for loopback addresses only; make your own "
                + "account with `approov serve`")
    }
}
