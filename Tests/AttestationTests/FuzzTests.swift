import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

/// Random bytes: no reader crashes, and every accepted value keeps its rules.
@Suite struct FuzzTests {
    private let account: TestAccount

    init() throws { account = try TestAccount() }

    private func mutated(_ bytes: [UInt8], by generator: inout SeededGenerator) -> [UInt8] {
        let telling = Array(#"{}[]",:\0123456789.-+eE \#t\#n\#0é"#.utf8)
        var bytes = bytes
        for _ in 0...Int.random(in: 0...2, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0...4, using: &generator) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(telling[Int.random(in: telling.indices, using: &generator)], at: place)
            case 3: bytes[place] = telling[Int.random(in: telling.indices, using: &generator)]
            default: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 16)], at: place)
            }
        }
        return bytes
    }

    @Test("a changed JSON text is refused, or is a value that survives writing and reading", arguments: [1, 2, 3] as [UInt64])
    func json(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let text = Array(#"{"a":[1,-2.5e3,true,null,"x\u00e9\n\"é"],"b":{"c":{}},"d":9223372036854775807}"#.utf8)
        var accepted = 0
        for _ in 0..<3_000 {
            guard let value = try? JSONValue(reading: mutated(text, by: &generator), limit: 1_000) else { continue }
            accepted += 1
            let written = value.serialized()
            let again = try JSONValue(reading: written, limit: 10_000)
            #expect(again == value)
            #expect(again.serialized() == written)
        }
        #expect(accepted > 100)
    }

    @Test("a changed configuration, rightly signed, is refused or keeps every rule", arguments: [4, 5] as [UInt64])
    func configurations(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let state = try account.state()
        let payload = account.configuration(version: 2) {
            $0.configKeys = [account.jwk]
            $0.managedTrustRoots = [TestAccount.pinA]
            $0.hosts["b.example.com"] = HostSettings(pins: [], kid: "k")
        }.json.serialized()
        var accepted = 0
        for _ in 0..<400 {
            let signed = try SignedConfiguration(json: try account.signedAnyway(mutated(payload, by: &generator)))
            guard let next = try? state.accepting([signed], now: TestAccount.now) else { continue }
            accepted += 1
            #expect(next.accepted.account == account.name)
            #expect(next.accepted.epoch == 1)
            #expect(next.accepted.version > 1)
            #expect(next.configKeys == [account.jwk])
            for settings in next.accepted.hosts.values where settings.enforce {
                #expect(Set(settings.pins).count >= 2 || (settings.pins.isEmpty && !next.accepted.managedTrustRoots.isEmpty))
            }
            let stored = try #require(next.serializedChain)
            #expect(try ConfigurationState(initial: account.initial(), restoring: stored).accepted == next.accepted)
        }
        #expect(accepted > 5)
    }

    @Test("changed initial configurations and evidence are refused, or say what they said", arguments: [6, 7] as [UInt64])
    func files(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let initial = try account.initial().serialized
        let key = P256.Signing.PrivateKey()
        let request = EvidenceRequest(
            challenge: "AAAA", audience: "https://a.example", account: "a", host: "h", sdkVersion: "1", configVersion: 1)
        let evidence = Evidence(
            answering: request, iat: 1, deviceID: DeviceID(installationKey: key.publicKey), appID: "a", appVersion: "1", measurements: [:],
            environment: [])
        let text = Array(try evidence.signed(by: key).utf8)
        let claims = Array(#"{"role":"admin","aud":"partner.example","n":[1,2.5,null,{"x":"\u00e9"}]}"#.utf8)
        let body = AttestationRequest(evidence: "a.b.c", customClaims: claims).json.serialized()
        for _ in 0..<400 {
            if let read = try? InitialConfiguration(mutated(initial, by: &generator)) {
                #expect(try ConfigurationState(initial: read).accepted == account.configuration(version: 1))
            }
            if let changed = try? CustomClaims(mutated(claims, by: &generator)) {
                #expect(CustomClaims.reservedNames.isDisjoint(with: changed.claims.keys) && !changed.audience.isEmpty)
                #expect(try CustomClaims(.object(changed.claims), for: changed.audience).claims == changed.claims)
            }
            let json = try? JSONValue(parsing: mutated(body, by: &generator), limit: AttestationRequest.maximumBytes)
            if let read = json.flatMap({ try? AttestationRequest(json: $0) }) {
                #expect(try AttestationRequest(json: read.json) == read)
            }
            let changed = mutated(text, by: &generator)
            if let verified = try? VerifiedEvidence(verifying: changed) {
                #expect(changed == text)
                #expect(verified.evidence == evidence)
            }
        }
    }
}
