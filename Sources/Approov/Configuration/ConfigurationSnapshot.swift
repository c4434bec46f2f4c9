import ApproovBase
import Attestation
import CertificatePinning
import Foundation

/// One configuration with everything that requests need of it made ready; frozen.
///
/// A request takes one snapshot and keeps to it, so that it sees wholly the old or wholly the new configuration.
final class ConfigurationSnapshot: Sendable {
    let configuration: DynamicConfiguration
    /// The account's hosts by pattern.
    let protectedHosts: [ProtectedHost]
    private let hosts: HostMap<ProtectedHost>
    /// The way to oblivious hosts.
    let obliviousRoute: ObliviousRoute?
    /// What the authority's server must satisfy.
    let authorityPolicy: TrustPolicy

    /// Compiles a configuration.
    ///
    /// - Parameters:
    ///   - configuration: What was accepted.
    ///   - initial: The initial configuration.
    ///   - authorityAnchors: The roots for the authority.
    ///   - watch: Who hears of refusals of the authority's server.
    ///   - previous: What was in force before; its authority policy, and with it its connections, is kept when nothing changed in it.
    /// - Throws: `PinningError` or ``ApproovError`` naming what does not parse.
    init(
        _ configuration: DynamicConfiguration, initial: InitialConfiguration, authorityAnchors: TrustAnchors,
        watch: AuthorityWatch = AuthorityWatch(), previous: ConfigurationSnapshot? = nil
    ) throws {
        self.configuration = configuration
        protectedHosts = try Self.compile(configuration, initial: initial)
        hosts = try HostMap(protectedHosts.map { ($0.pattern, $0) })
        obliviousRoute = try Self.obliviousRoute(configuration)
        if let previous, previous.configuration.authorityPins == configuration.authorityPins {
            authorityPolicy = previous.authorityPolicy
        } else {
            let host = try Self.authorityHost(of: initial)
            let pins = try Self.authorityPins(configuration, initial: initial)
            let noted = NotedHost(authority: host, pins: pins.sorted { $0.description < $1.description })
            let rule = TrustRule(
                evaluators: [try PublicKeysTrustEvaluator(pins: pins)], anchors: authorityAnchors, observer: watch.observer(for: noted))
            let pattern = HostPattern(host)
            authorityPolicy = TrustPolicy(
                rules: try HostMap([(pattern, rule)]), defaultAnchors: authorityAnchors, refusesUnmatchedHosts: true)
        }
    }

    /// The account's entry for a host; nil when the configuration says nothing about it.
    func protectedHost(for host: CanonicalHost) -> ProtectedHost? { hosts.value(for: host) }

    /// Whether the other says the same about hosts, so that connections made under it may serve on.
    func hasSameHosts(as other: ConfigurationSnapshot) -> Bool {
        configuration.hosts == other.configuration.hosts
            && configuration.managedTrustRoots == other.configuration.managedTrustRoots
    }

    /// Finds out whether a configuration compiles.
    ///
    /// - Throws: `PinningError` or ``ApproovError`` naming what does not parse.
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
        // Sorted, so that of two flaws the same one is always named.
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
            "it is signed with the demo account's keys, which anybody may have: they are good for loopback addresses only; make an account "
                + "of your own with `approov serve`")
    }
}
