import ApproovTesting
import Attestation
import CertificatePinning
import FoundationNetworking
import HTTPClient
import Testing

@testable import Approov

@Suite struct WayStationTests {
    private let world: World
    private let policies: PolicySource
    private let ownRoute: ObliviousRoute

    init() throws {
        world = try World(hosts: ["direct.test": .pinned, "oblivious.test": HostSettings.pinned.with { $0.oblivious = true }])
        let manager = ApproovTrustManager(anchors: .of(world.account.root), logger: .silent)
        policies = try PolicySource(manager: manager, keeper: world.service.keeper)
        ownRoute = try ObliviousRoute(SmallGateway().settings)
    }

    private func route(
        to host: String, isBehindRelay: Bool = false, ownRoute: ObliviousRoute? = nil, isDirectRefused: Bool = false
    ) throws -> KeyedRoute? {
        var step = try RedirectStep(URLRequest("https://\(host)/"), body: .none)
        step.isBehindRelay = isBehindRelay
        return try WayStation(ownRoute: ownRoute, isDirectRefused: isDirectRefused).route(for: step, under: policies.resolve(step.url.host))
    }

    @Test("The configuration decides the route of the hosts that it names, whatever route the session has")
    func configured() throws {
        let hop = try policies.resolve(CanonicalHost("oblivious.test"))
        #expect(try route(to: "oblivious.test", ownRoute: ownRoute)?.key == hop.snapshot?.obliviousRoute?.key)
        #expect(try route(to: "direct.test", ownRoute: ownRoute) == nil)
    }

    @Test("A host that the configuration does not name takes the session's own route, or goes direct if there is none")
    func other() throws {
        #expect(try route(to: "other.test", ownRoute: ownRoute)?.key == ownRoute.key)
        #expect(try route(to: "other.test") == nil)
    }

    @Test(
        "No request goes direct if the session refuses that, or after a redirect from behind a relay",
        arguments: ["direct.test", "other.test"])
    func refused(_ host: String) throws {
        #expect(throws: ApproovError(.obliviousError, "")) { try route(to: host, isDirectRefused: true) }
        #expect(throws: ApproovError(.redirectRefused, "")) { try route(to: host, isBehindRelay: true) }
        #expect(try route(to: "oblivious.test", isBehindRelay: true, isDirectRefused: true) != nil)
    }
}
