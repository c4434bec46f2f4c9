import ApproovTesting
import Attestation
import CertificatePinning
import Testing

@testable import Approov

@Suite struct ResolvedHopTests {
    private func policies(_ world: World, allHosts: Bool = false) throws -> PolicySource {
        let manager = ApproovTrustManager(
            allHostsMustBeEvaluated: allHosts, evaluators: ["evaluated.test": DefaultTrustEvaluator()], anchors: .of(world.account.root),
            logger: .silent)
        return try PolicySource(manager: manager, keeper: world.service.keeper)
    }

    @Test("A protected host has its signed rule, an evaluated host only the caller's evaluator, and any other host neither")
    func hosts() throws {
        let policies = try policies(World(hosts: ["*.api.test": .pinned]))
        let protected = try policies.resolve(CanonicalHost("eu.api.test"))
        #expect(protected.rule?.name == "*.api.test" && protected.isEvaluated)
        let evaluated = try policies.resolve(CanonicalHost("evaluated.test"))
        #expect(evaluated.rule == nil && evaluated.isEvaluated)
        let other = try policies.resolve(CanonicalHost("other.test"))
        #expect(other.rule == nil && !other.isEvaluated)
    }

    @Test("Every protected host is evaluated, even if the caller's patterns exclude it or are more specific")
    func protectedIsEvaluated() throws {
        let world = try World(hosts: ["**.api.test": .pinned, "api.test": .pinned])
        let manager = ApproovTrustManager(
            patterns: [
                (try HostPattern("api.test", includeSubdomains: true, excluding: ["eu.api.test"]), DefaultTrustEvaluator()),
                (try HostPattern("*.eu.api.test"), DisabledTrustEvaluator()),
            ], anchors: .of(world.account.root), logger: .silent)
        let policies = try PolicySource(manager: manager, keeper: world.service.keeper)
        for name in ["api.test", "eu.api.test", "one.eu.api.test", "us.api.test", "a.b.api.test"] {
            let host = try CanonicalHost(name)
            let hop = try policies.resolve(host)
            #expect(hop.rule != nil, "\(name)")
            // A look-up in the trust policy gives the same result.
            #expect(hop.policy.trust.hasRule(for: host), "\(name)")
        }
    }

    @Test("A newer configuration makes an earlier look-up invalid, and the next look-up has the new rules")
    func inForce() async throws {
        let world = try World()
        let policies = try policies(world)
        let host = try CanonicalHost("api.test")
        let before = try policies.resolve(host)
        #expect(before.policy.areInForce)
        let newer = world.account.configuration(version: 2, hosts: ["api.test": HostSettings.pinned.with { $0.attested = false }])
        world.authority.script.value.configurations = [try world.account.signed(newer)]
        #expect(try await world.service.refreshConfiguration())
        #expect(!before.policy.areInForce)
        #expect(before.rule?.settings.attested == true)
        let after = try policies.resolve(host)
        #expect(after.policy.areInForce)
        #expect(after.rule?.settings.attested == false && after.snapshot !== before.snapshot)
    }

    @Test("Without a service, every look-up stays valid")
    func withoutService() throws {
        let manager = ApproovTrustManager(anchors: .of(try TestAccount().root), logger: .silent)
        let policies = try PolicySource(manager: manager, keeper: nil)
        let hop = try policies.resolve(CanonicalHost("api.test"))
        #expect(hop.policy.areInForce)
        #expect(hop.rule == nil && hop.snapshot == nil)
    }
}
