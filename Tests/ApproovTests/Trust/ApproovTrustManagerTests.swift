import ApproovTesting
import Attestation
import CertificatePinning
import Foundation
import HTTPClient
import Testing

@testable import Approov

// Acceptance list: S1.31, S2.73
@Suite struct ApproovTrustManagerTests {
    struct Marked: ServerTrustEvaluating {
        let name: String
        func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict { .trusted }
    }

    let account: TestAccount
    let anchors: TrustAnchors

    init() throws {
        account = try TestAccount()
        anchors = try TrustAnchors(pem: account.root.pem)
    }

    private func policy(
        _ evaluators: [String: any ServerTrustEvaluating] = [:], hosts: [String: HostSettings] = [:], managedTrustRoots: [String] = [],
        allHostsMustBeEvaluated: Bool = false
    ) throws -> TrustPolicy {
        let manager = ApproovTrustManager(
            allHostsMustBeEvaluated: allHostsMustBeEvaluated, evaluators: evaluators, anchors: anchors, logger: .silent)
        let configuration = account.configuration(hosts: hosts, managedTrustRoots: managedTrustRoots)
        let initial = try account.initial(configuration)
        let snapshot = try ConfigurationSnapshot(ConfigurationState(initial: initial), initial: initial, authorityAnchors: anchors)
        return try manager.policy(protecting: snapshot.protectedHosts)
    }

    private func names(_ policy: TrustPolicy, _ host: String) throws -> [String] {
        try policy.rule(for: try CanonicalHost(host)).evaluators.map { evaluator in
            switch evaluator {
            case let marked as Marked: marked.name
            case is PublicKeysTrustEvaluator: "pins"
            case is DefaultTrustEvaluator: "path"
            case is DisabledTrustEvaluator: "none"
            case is ReportOnlyTrustEvaluator: "reported"
            default: "?"
            }
        }
    }

    @Test("A protected host's pins are checked before the caller's evaluator, however the two name the host")
    func pinsFirst() throws {
        let below = HostSettings.pinned.with { $0.includeSubdomains = true }
        let policy = try policy(
            ["api.test.org": Marked(name: "exact"), "*.wide.test": Marked(name: "wide"), "deep.sub.test": Marked(name: "deep")],
            hosts: ["api.test.org": .pinned, "a.wide.test": .pinned, "sub.test": below])
        #expect(try names(policy, "api.test.org") == ["pins", "exact"])
        #expect(try names(policy, "a.wide.test") == ["pins", "wide"])
        #expect(try names(policy, "b.wide.test") == ["wide"])
        #expect(try names(policy, "deep.sub.test") == ["pins", "deep"])
        #expect(try names(policy, "x.deep.sub.test") == ["pins"])
        #expect(try names(policy, "sub.test") == ["pins"])
        #expect(try names(policy, "other.test") == [])
        #expect(try policy.rule(for: CanonicalHost("other.test")).validatesPath)
    }

    @Test("A disabled evaluator affects neither protected hosts nor hosts outside its pattern")
    func disabled() throws {
        let policy = try policy(
            ["api.test.org": DisabledTrustEvaluator(), "**.test.com": DisabledTrustEvaluator()],
            hosts: ["api.test.org": .pinned, "x.test.com": .pinned.with { $0.enforce = false }])
        #expect(try names(policy, "api.test.org") == ["pins"])
        #expect(try names(policy, "x.test.com") == ["reported"])
        #expect(try policy.rule(for: CanonicalHost("x.test.com")).validatesPath)
        #expect(try names(policy, "y.test.com") == ["none"])
        #expect(try policy.rule(for: CanonicalHost("y.test.com")).validatesPath == false)
        #expect(try policy.rule(for: CanonicalHost("else.test")).validatesPath)
    }

    @Test("A public suffix between a protected pattern and a host does not lift the pins, whatever evaluator the host has")
    func suffixBetween() throws {
        let policy = try policy(
            ["own.s3.amazonaws.com": Marked(name: "own"), "off.s3.amazonaws.com": DisabledTrustEvaluator()],
            hosts: ["**.amazonaws.com": .pinned])
        #expect(try names(policy, "own.s3.amazonaws.com") == ["pins", "own"])
        #expect(try names(policy, "off.s3.amazonaws.com") == ["pins"])
        #expect(try names(policy, "else.s3.amazonaws.com") == ["pins"])
    }

    @Test("An entry of the account does not lift the caller's pins across a public suffix", arguments: [false, true])
    func suffixAround(allHostsMustBeEvaluated: Bool) throws {
        let reported = HostSettings.pinned.with { $0.enforce = false }
        let below = HostSettings.pinned.with { $0.includeSubdomains = true }
        let policy = try policy(
            ["**.amazonaws.com": Marked(name: "own"), "near.b.s3.amazonaws.com": Marked(name: "near")],
            hosts: ["files.s3.amazonaws.com": .pinned, "open.s3.amazonaws.com": reported, "b.s3.amazonaws.com": below],
            allHostsMustBeEvaluated: allHostsMustBeEvaluated)
        #expect(try names(policy, "files.s3.amazonaws.com") == ["pins", "own"])
        #expect(try names(policy, "open.s3.amazonaws.com") == ["reported", "own"])
        #expect(try names(policy, "b.s3.amazonaws.com") == ["pins", "own"])
        #expect(try names(policy, "x.b.s3.amazonaws.com") == ["pins", "own"])
        #expect(try names(policy, "near.b.s3.amazonaws.com") == ["pins", "near"])
    }

    @Test("Across a public suffix, a protected host sees no client certificate, and a disabled evaluator has no effect on it")
    func suffixAroundConditions() throws {
        let hosts = ["console.amazonaws.com": HostSettings.pinned, "files.s3.amazonaws.com": .pinned]
        let folder = try TemporaryFolder()
        let leaf = try TestPKI.leaf(hosts: ["client.test"], issuer: account.root)
        let identity = try ClientIdentity(
            certificateFile: folder.write(leaf.chainPEM, to: "c.pem"), privateKeyFile: folder.write(leaf.privateKeyPEM, to: "k.pem"))
        let presenting = try policy(["**.amazonaws.com": DefaultTrustEvaluator().presenting(identity)], hosts: hosts)
        #expect(try presenting.rule(for: CanonicalHost("console.amazonaws.com")).clientIdentity === identity)
        let rule = try presenting.rule(for: CanonicalHost("files.s3.amazonaws.com"))
        #expect(rule.clientIdentity == nil && rule.evaluators.count == 2)
        let disabled = try policy(["**.amazonaws.com": DisabledTrustEvaluator()], hosts: hosts)
        #expect(try names(disabled, "files.s3.amazonaws.com") == ["pins"])
        #expect(try disabled.rule(for: CanonicalHost("files.s3.amazonaws.com")).validatesPath)
    }

    @Test("Where every host must be evaluated, an exclusion admits no host across a public suffix")
    func excludedSuffix() throws {
        let pattern = try HostPattern("**.amazonaws.com", excluding: ["s3.amazonaws.com"], allowingPublicSuffix: true)
        for patterns in [[(pattern, Marked(name: "own") as any ServerTrustEvaluating)], []] {
            let policy = try policy(patterns: patterns, hosts: ["**.amazonaws.com": .pinned], allHostsMustBeEvaluated: true)
            #expect(throws: TrustRefusal.self) { try policy.rule(for: CanonicalHost("evil.s3.amazonaws.com")) }
        }
    }

    private func policy(
        patterns: [(HostPattern, any ServerTrustEvaluating)], hosts: [String: HostSettings] = [:], allHostsMustBeEvaluated: Bool = false
    ) throws -> TrustPolicy {
        let manager = ApproovTrustManager(
            allHostsMustBeEvaluated: allHostsMustBeEvaluated, patterns: patterns, anchors: anchors, logger: .silent)
        let configuration = account.configuration(hosts: hosts)
        let initial = try account.initial(configuration)
        let snapshot = try ConfigurationSnapshot(ConfigurationState(initial: initial), initial: initial, authorityAnchors: anchors)
        return try manager.policy(protecting: snapshot.protectedHosts)
    }

    @Test("A pattern does not apply to hosts that it excludes; the next wider pattern does, if there is one")
    func exclusions() throws {
        let inner = try HostPattern("corp.test", includeSubdomains: true, excluding: ["guests.corp.test"])
        let alone = try policy(patterns: [(inner, Marked(name: "corp"))], allHostsMustBeEvaluated: true)
        #expect(try names(alone, "corp.test") == ["corp"])
        #expect(try names(alone, "a.b.corp.test") == ["corp"])
        for excluded in ["guests.corp.test", "tv.guests.corp.test"] {
            let host = try CanonicalHost(excluded)
            #expect(!alone.hasRule(for: host))
            #expect(throws: TrustRefusal.self) { try alone.rule(for: host) }
        }
        let wide = try HostPattern("**.corp.test", excluding: ["b.corp.test", "y.guests.corp.test"])
        let narrow = try HostPattern("guests.corp.test", includeSubdomains: true, excluding: ["x.guests.corp.test"])
        let nested = try policy(patterns: [(wide, Marked(name: "wide")), (narrow, Marked(name: "narrow"))])
        #expect(try names(nested, "z.guests.corp.test") == ["narrow"])
        #expect(try names(nested, "y.guests.corp.test") == ["narrow"])
        #expect(try names(nested, "x.guests.corp.test") == ["wide"])
        #expect(try names(nested, "a.x.guests.corp.test") == ["wide"])
        #expect(try names(nested, "a.b.corp.test") == [])
        let one = try policy(patterns: [(HostPattern("*.corp.test", excluding: ["a.corp.test"]), Marked(name: "one"))])
        #expect(try names(one, "b.corp.test") == ["one"])
        #expect(try names(one, "a.corp.test") == [])
    }

    @Test("A protected host that a pattern excludes keeps its pins, and only its pins")
    func exclusionsOfProtectedHosts() throws {
        let below = HostSettings.pinned.with { $0.includeSubdomains = true }
        let pattern = try HostPattern("corp.site.test", includeSubdomains: true, excluding: ["guests.corp.site.test"])
        for hosts in [["corp.site.test": below], ["**.corp.site.test": .pinned, "corp.site.test": .pinned], ["**.site.test": .pinned]] {
            let policy = try policy(patterns: [(pattern, Marked(name: "corp"))], hosts: hosts)
            #expect(try names(policy, "corp.site.test") == ["pins", "corp"])
            #expect(try names(policy, "a.b.corp.site.test") == ["pins", "corp"])
            #expect(try names(policy, "guests.corp.site.test") == ["pins"])
            #expect(try names(policy, "tv.guests.corp.site.test") == ["pins"])
        }
        let single = try policy(
            patterns: [(pattern, Marked(name: "corp"))], hosts: ["*.corp.site.test": .pinned, "tv.guests.corp.site.test": .pinned])
        #expect(try names(single, "a.corp.site.test") == ["pins", "corp"])
        #expect(try names(single, "guests.corp.site.test") == ["pins"])
        #expect(try names(single, "tv.guests.corp.site.test") == ["pins"])
        #expect(try names(single, "x.guests.corp.site.test") == [])
    }

    @Test("A report names the pattern that matched, as it was written")
    func notedPatterns() throws {
        let pattern = try HostPattern("corp.test", includeSubdomains: true, excluding: ["guests.corp.test"])
        #expect(
            PinViolation.ObservedHost(pattern: pattern).name == "corp.test"
                && PinViolation.ObservedHost(pattern: pattern).includesSubdomains)
        #expect(try PinViolation.ObservedHost(pattern: HostPattern("**.corp.test")).name == "**.corp.test")
        #expect(try !PinViolation.ObservedHost(pattern: HostPattern("*.corp.test")).includesSubdomains)
    }

    @Test("Two patterns for the same hosts make the policy invalid, whatever they exclude")
    func samePatterns() throws {
        let one = try HostPattern("**.corp.test", excluding: ["a.corp.test"])
        let two = try HostPattern("corp.test", includeSubdomains: true)
        #expect(
            code(as: ApproovError.self) {
                try policy(patterns: [(one, Marked(name: "1")), (two, Marked(name: "2"))])
            } == .configurationError)
    }

    @Test("A manager whose roots have all expired throws on first use; roots that expire after it was made do not matter")
    func expiredRoots() throws {
        let now = Date()
        let old = try TestPKI.root(validity: now.addingTimeInterval(-7_200)...now.addingTimeInterval(-3_600))
        let expired = try TrustAnchors(pem: old.pem)
        #expect(code(as: ApproovError.self) { try ApproovTrustManager(anchors: expired).policy(protecting: []) } == .configurationError)
        let reports = ViolationReports(to: try #require(URL(string: "https://reports.test")), anchors: expired)
        #expect(
            code(as: ApproovError.self) {
                try ApproovTrustManager(anchors: anchors, reports: reports).policy(protecting: [])
            } == .configurationError)
        let clock = ManualClock(date: now.addingTimeInterval(-5_000))
        let manager = ApproovTrustManager(anchors: expired, clock: clock)
        clock.setDate(now)
        _ = try manager.policy(protecting: [])
    }

    @Test("A manager whose roots, or whose roots for reports, are not yet valid throws on first use")
    func futureRoots() throws {
        let next = try TrustAnchors(pem: TestPKI.root(flaws: [.notYetValid]).pem)
        let reports = ViolationReports(to: try #require(URL(string: "https://reports.test")), anchors: next)
        for manager in [ApproovTrustManager(anchors: next), ApproovTrustManager(anchors: anchors, reports: reports)] {
            let error = #expect(throws: ApproovError.self) { try manager.policy(protecting: []) }
            #expect(error?.code == .configurationError)
            #expect((error?.cause as? PinningError)?.code == .anchorsNotYetValid)
        }
    }

    @Test("A disabled evaluator is logged as an error if its host is protected, and not logged for another host")
    func disabledIsLogged() throws {
        let log = LogRecord()
        let manager = ApproovTrustManager(
            evaluators: ["api.test": DisabledTrustEvaluator(), "lab.test": DisabledTrustEvaluator()], anchors: anchors, logger: log.logger)
        let host = try ProtectedHost(name: "api.test", settings: .pinned, managedRoots: [])
        _ = try manager.policy(protecting: [host])
        let lines = log.lines
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.contains("DisabledTrustEvaluator ignored") && line.contains("api.test") && line.hasPrefix("error"))
    }

    @Test("Empty pins mean the managed roots, and a signed `enforce: false` means that pins are only reported")
    func emptyPins() throws {
        let policy = try policy(
            hosts: [
                "managed.test": HostSettings(pins: []), "open.test": HostSettings(pins: [], enforce: false),
                "one.test": HostSettings(pins: [TestAccount.pinB], enforce: false),
            ],
            managedTrustRoots: [TestAccount.pinA])
        #expect(try names(policy, "managed.test") == ["pins"])
        #expect(try names(policy, "open.test") == ["reported"])
        #expect(try names(policy, "one.test") == ["reported"])
        let unpinned = try self.policy(hosts: ["bare.test": HostSettings(pins: [], enforce: false)])
        #expect(try names(unpinned, "bare.test") == ["path"])
        #expect(throws: (any Error).self) {
            try ProtectedHost(name: "api.test", settings: HostSettings(pins: []), managedRoots: [])
        }
    }

    @Test("A host's own roots replace the system's roots for that host only")
    func roots() throws {
        let own = try TestPKI.root()
        let policy = try policy(hosts: ["own.test": .pinned.with { $0.trustRoots = own.pem }, "api.test": .pinned])
        #expect(try policy.rule(for: CanonicalHost("own.test")).anchors?.count == 1)
        #expect(try policy.rule(for: CanonicalHost("api.test")).anchors == nil)
        #expect(policy.defaultAnchors === anchors)
    }

    @Test("With `allHostsMustBeEvaluated`, a host that is neither protected nor evaluated is refused")
    func allHosts() throws {
        let policy = try policy(["a.test": Marked(name: "a")], hosts: ["b.test": .pinned], allHostsMustBeEvaluated: true)
        #expect(try names(policy, "a.test") == ["a"])
        #expect(try names(policy, "b.test") == ["pins"])
        let other = try CanonicalHost("c.test")
        #expect {
            try policy.rule(for: other)
        } throws: {
            ($0 as? TrustRefusal)?.reason == .hostNotEvaluated
        }
    }

    @Test(
        "A malformed evaluator host, or two evaluators for one host, make the policy and the session throw",
        arguments: [["*": 1], ["a b": 1], ["": 1], ["https://a.test": 1], ["A.test": 1, "a.test": 2], ["a.test:443": 1]])
    func malformed(_ keys: [String: Int]) throws {
        #expect(code(as: ApproovError.self) { try policy(keys.mapValues { Marked(name: "\($0)") }) } == .configurationError)
        let manager = ApproovTrustManager(evaluators: keys.mapValues { Marked(name: "\($0)") }, anchors: anchors)
        #expect(
            code(as: ApproovError.self) {
                try ApproovSession(service: nil, trustManager: manager, configuration: .over(InProcessTransport(status: 200)))
            } == .configurationError)
    }

    @Test("A new configuration starts a new policy generation only if it changes a host's rule")
    func generations() async throws {
        let world = try World()
        let source = try PolicySource(
            manager: ApproovTrustManager(anchors: anchors, logger: .silent), keeper: world.service.keeper)
        let first = try source.current()
        #expect(try source.current() === first)
        let hosts = ["api.test": HostSettings.pinned]
        _ = await world.service.keeper.offer([try world.account.signed(world.account.configuration(version: 2, hosts: hosts))])
        let second = try source.current()
        #expect(second !== first)
        #expect(second.trust === first.trust)
        #expect(second.snapshot?.configuration.version == 2)
        let changed = ["api.test": HostSettings(pins: [TestAccount.pinB, TestAccount.pinA.replacing("Cg", with: "Dg")])]
        _ = await world.service.keeper.offer([try world.account.signed(world.account.configuration(version: 3, hosts: changed))])
        let third = try source.current()
        #expect(third.trust.generation > second.trust.generation)
    }
}
