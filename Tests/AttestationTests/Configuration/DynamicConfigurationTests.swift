import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Testing

/// The JSON of a configuration, before any signature.
@Suite struct DynamicConfigurationTests {
    private let account: TestAccount

    init() throws { account = try TestAccount() }

    @Test("Every member survives a JSON round trip")
    func roundTrip() throws {
        let configuration = account.configuration(version: 7) {
            $0.hosts["x.example.com"] = HostSettings(
                pins: [], enforce: false, attested: false, oblivious: true, includeSubdomains: true, pinsExpireAt: 5,
                trustRoots: "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", kid: "keys-1")
            $0.managedTrustRoots = [TestAccount.pinA]
            $0.oblivious = ObliviousSettings(relay: "https://relay.example.com/", keyConfig: "AAAA")
            $0.authorityPins = [TestAccount.pinA, TestAccount.pinB]
            $0.configKeys = [account.jwk]
            $0.critical = ["hosts", "configKeys"]
        }
        #expect(try DynamicConfiguration(json: configuration.json) == configuration)
    }

    @Test("Unknown members are ignored unless they are listed as critical")
    func unknownMembers() throws {
        let known = account.configuration(version: 2)
        let json = try known.json.setting("novelty", to: .integer(1))
        #expect(try DynamicConfiguration(json: json) == known)
        #expect(code { try DynamicConfiguration(json: try json.setting("critical", to: .array(["novelty"]))) } == .unknownCritical)
        #expect(code { try DynamicConfiguration(json: try json.setting("critical", to: "novelty")) } == .malformedMember)
    }

    @Test(
        "A version, epoch or time that is not an integer from 1 to 2^53 - 1 is rejected and named",
        arguments: [
            .integer(0), .integer(-1), .integer(1 << 53), .integer(.max), .string("7"), .real(7.0), .bool(true), .null,
            .array([.integer(7)]),
        ] as [JSONValue])
    func versions(value: JSONValue) throws {
        let json = account.configuration(version: 2).json
        for name in ["version", "epoch", "issuedAt", "expiresAt"] {
            let changed = try json.setting(name, to: value)
            let error = try #require(throws: AttestationError.self) { try DynamicConfiguration(json: changed) }
            #expect(error.code == .malformedMember)
            #expect(error.member == name)
        }
    }

    @Test("A missing member is rejected and named", arguments: ["account", "epoch", "version", "issuedAt", "expiresAt", "hosts"])
    func missing(name: String) throws {
        let changed = try account.configuration(version: 2).json.setting(name, to: nil)
        let error = try #require(throws: AttestationError.self) { try DynamicConfiguration(json: changed) }
        #expect(error.member == name)
    }

    @Test("Every list of pins rejects the hash of empty input, which would count as a backup pin")
    func hashOfNothing() {
        let nothing = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        for (member, change) in [
            (
                "hosts.x.example.com.pins",
                { $0.hosts["x.example.com"] = HostSettings(pins: [TestAccount.pinA, TestAccount.pinB, nothing]) }
            ),
            ("hosts.x.example.com.pins", { $0.hosts["x.example.com"] = HostSettings(pins: [nothing], enforce: false) }),
            ("managedTrustRoots", { $0.managedTrustRoots = [TestAccount.pinA, nothing] }),
            ("authorityPins", { $0.authorityPins = [TestAccount.pinA, TestAccount.pinB, String(nothing.dropFirst(7))] }),
        ] as [(String, (inout DynamicConfiguration) -> Void)] {
            let json = account.configuration(version: 2, change: change).json
            #expect {
                try DynamicConfiguration(json: json)
            } throws: {
                ($0 as? AttestationError)?.code == .malformedConfiguration && ($0 as? AttestationError)?.member == member
            }
        }
    }

    @Test(
        "A malformed pin is rejected, and the error names its position",
        arguments: [
            "", "sha256/", "sha256/AAAA", "sha1/" + Base64.encode([UInt8](repeating: 1, count: 20)),
            "sha256/" + Base64.encode([UInt8](repeating: 1, count: 31)), "sha256/" + Base64.encode([UInt8](repeating: 1, count: 33)),
            " " + TestAccount.pinA, TestAccount.pinA + " ", TestAccount.pinA + "\n", "SHA256/" + TestAccount.pinA.dropFirst(7),
            "sha256/" + Base64URL.encode([UInt8](repeating: 0xff, count: 32)),
        ])
    func malformedPins(pin: String) throws {
        let configuration = account.configuration(version: 2) { $0.hosts["api.test"]?.pins = [TestAccount.pinA, pin] }
        let error = try #require(throws: AttestationError.self) { try DynamicConfiguration(json: configuration.json) }
        #expect(error.code == .malformedMember)
        #expect(error.member == "hosts.api.test.pins[1]")
    }

    @Test("An enforced host needs two different pins, or no pins when there are managed trust roots")
    func numberOfPins() throws {
        func check(_ pins: [String], enforce: Bool = true, managed: [String] = []) -> AttestationError.Code? {
            let configuration = account.configuration(version: 2) {
                $0.hosts["api.test"] = HostSettings(pins: pins, enforce: enforce)
                $0.managedTrustRoots = managed
            }
            do {
                _ = try DynamicConfiguration(json: configuration.json)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(check([TestAccount.pinA, TestAccount.pinB]) == nil)
        #expect(check([TestAccount.pinA]) == .malformedConfiguration)
        #expect(check([TestAccount.pinA, TestAccount.pinA]) == .malformedConfiguration)
        // A pin with and without its prefix is the same key.
        #expect(check([TestAccount.pinA, String(TestAccount.pinA.dropFirst(7))]) == .malformedConfiguration)
        #expect(check([]) == .malformedConfiguration)
        #expect(check([], managed: [TestAccount.pinA]) == nil)
        #expect(check([], enforce: false) == nil)
        #expect(check([TestAccount.pinA], enforce: false) == nil)
    }

    @Test("Every list of pins rejects a repeated key, even beside enough others or without its sha256/ prefix")
    func repeatedPins() throws {
        let lists = [
            [TestAccount.pinA, TestAccount.pinA, TestAccount.pinB],
            [TestAccount.pinA, TestAccount.pinB, String(TestAccount.pinA.dropFirst(7))],
            [TestAccount.pinA, TestAccount.pinB, TestAccount.pinB],
        ]
        for list in lists {
            for (member, change) in [
                ("hosts.x.example.com.pins", { $0.hosts["x.example.com"] = HostSettings(pins: list) }),
                ("hosts.x.example.com.pins", { $0.hosts["x.example.com"] = HostSettings(pins: list, enforce: false) }),
                ("managedTrustRoots", { $0.managedTrustRoots = list }), ("authorityPins", { $0.authorityPins = list }),
            ] as [(String, (inout DynamicConfiguration) -> Void)] {
                let json = account.configuration(version: 2, change: change).json
                let error = #expect(throws: AttestationError.self) { try DynamicConfiguration(json: json) }
                #expect(error?.code == .malformedConfiguration)
                #expect(error?.member == member)
                #expect(error?.message.contains("twice") == true)
            }
        }
    }

    @Test("A malformed member of a host rule is rejected and named")
    func hostMembers() throws {
        let settings = HostSettings(pins: [TestAccount.pinA, TestAccount.pinB]).json
        let changes: [(String, JSONValue?)] = [
            ("pins", nil), ("pins", "x"), ("pins", .array([.integer(1)])), ("enforce", .integer(0)), ("enforce", "false"),
            ("attested", "no"),
            ("oblivious", .integer(1)), ("includeSubdomains", "yes"), ("pinsExpireAt", "never"), ("pinsExpireAt", .integer(-1)),
            ("trustRoots", "roots.pem"), ("trustRoots", ""), ("kid", ""), ("kid", "../../x\n"),
            ("kid", .string(String(repeating: "k", count: 65))),
        ]
        for (name, value) in changes {
            let json = try account.configuration(version: 2).json.setting(
                "hosts", to: .object(["h": try settings.setting(name, to: value)]))
            let error = try #require(throws: AttestationError.self, "\(name)") { try DynamicConfiguration(json: json) }
            #expect(error.member?.hasPrefix("hosts.h.\(name)") == true, "\(error)")
        }
    }

    @Test("A configuration that breaks a rule is neither read nor signed")
    func rules() {
        let changes: [(inout DynamicConfiguration) -> Void] = [
            { $0.expiresAt = $0.issuedAt },
            { $0.hosts[""] = HostSettings(pins: [TestAccount.pinA, TestAccount.pinB]) },
            { $0.hosts["a b"] = HostSettings(pins: [TestAccount.pinA, TestAccount.pinB]) },
            { $0.hosts["api.test"]?.oblivious = true },
            { $0.authorityPins = [TestAccount.pinA] },
            { $0.authorityPins = [] },
            { $0.configKeys = [] },
            { $0.configKeys = [account.jwk, account.jwk] },
            { $0.configKeys = (0..<9).map { _ in PublicJWK(P256.Signing.PrivateKey().publicKey) } },
        ]
        for (index, change) in changes.enumerated() {
            let configuration = account.configuration(version: 2, change: change)
            #expect(code { try DynamicConfiguration(json: configuration.json) } == .malformedConfiguration, "change \(index)")
            #expect(
                code { try SignedConfiguration(signing: configuration, by: [account.key]) } == .malformedConfiguration, "change \(index)")
        }
    }

    @Test("A relay that is not an https URL and a malformed key configuration are rejected")
    func oblivious() {
        for settings in [
            ObliviousSettings(relay: "http://relay.example.com", keyConfig: "AAAA"), ObliviousSettings(relay: "relay", keyConfig: "AAAA"),
            ObliviousSettings(relay: "https://relay.example.com", keyConfig: "A"),
            ObliviousSettings(relay: "https://relay.example.com", keyConfig: ""),
        ] {
            #expect(code { try ObliviousSettings(json: settings.json) } == .malformedMember)
        }
    }

    @Test("`pinsJSON` has the bare pins of every enforced host, and the managed trust roots under an asterisk")
    func pinsJSON() throws {
        let (a, b) = (TestAccount.pinA.dropFirst(7), TestAccount.pinB.dropFirst(7))
        var configuration = DynamicConfiguration(
            account: "test", version: 1, issuedAt: 1, expiresAt: 2,
            hosts: [
                "api.test": HostSettings(pins: [TestAccount.pinB, String(a)]), "*.test": HostSettings(),
                "free.test": HostSettings(pins: [TestAccount.pinA, TestAccount.pinB], enforce: false),
            ], managedTrustRoots: [TestAccount.pinA])
        #expect(configuration.pinsJSON == #"{"*":["\#(a)"],"*.test":[],"api.test":["\#(a)","\#(b)"]}"#)
        (configuration.hosts, configuration.managedTrustRoots) = ([:], [])
        #expect(configuration.pinsJSON == "{}")
    }
}
