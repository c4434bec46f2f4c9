import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import GRDB
import OHTTP
import TestTags
import Testing

@testable import ApproovAuthority

@Suite(.tags(.slow)) struct AttestationVerifierTests {
    private func problem(_ body: () async throws -> Void) async -> Problem.Name? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? Problem)?.name
        }
    }

    @Test("Evidence of a registered executable gets a token that verifies and has every claim")
    func trusted() async throws {
        let account = try await AuthorityBench()
        let pay = Binding.payHash(of: "Bearer x")
        let result = try await account.attest(account.evidence { $0.payHash = pay })
        let token = try account.store.tokenVerifier(audience: AuthorityBench.host).verify(result.token, binding: .required(["Bearer x"]))
        let now = Int64(account.clock.date.timeIntervalSince1970)
        #expect(token.claims.exp == now + 300)
        #expect(token.claims.iat == now)
        #expect(token.claims.ip == "127.0.0.1")
        #expect(token.claims.did == DeviceID(installationKey: account.key.publicKey).base64)
        #expect(token.claims.arc == result.arc)
        #expect(token.claims.pay == pay)
        #expect(token.claims.iss == nil && token.claims.sub == nil)
        #expect(token.claims.aud == AuthorityBench.host)
        #expect(token.claims.ipk == Base64.encode(account.key.publicKey.derRepresentation))
        #expect(token.claims.anno == nil)
        #expect(result.expiresIn == 300)
        #expect(result.rejectionReasons == nil)
        #expect(try account.store.decodeARC(result.arc).reasons.isEmpty)
    }

    @Test("A token for an oblivious host contains the verdict and nothing about the device", arguments: [true, false])
    func oblivious(isTrusted: Bool) async throws {
        let account = try await AuthorityBench()
        let keys = try GatewayKeyring([GatewayKey(id: 1)]).configurations.encoded()
        try await account.store.setOblivious(ObliviousSettings(relay: "https://relay.example.com/", keyConfig: Base64.encode(keys)))
        try await account.store.addHost(AuthorityBench.host, settings: HostSettings(pins: AuthorityBench.pins, oblivious: true))
        // Every claim that the policy can switch on.
        try await account.store.setNamesIssuer(true)
        try await account.store.setNamesSubject(true)
        let pay = Binding.payHash(of: "Bearer x")
        let result = try await account.attest(
            account.evidence {
                $0.payHash = pay
                if !isTrusted { $0.environment = ["debugger"] }
            })
        let claims = try unverifiedParts(of: result.token).claims
        let now = Int64(account.clock.date.timeIntervalSince1970)
        let reasons: Set<RejectionReason> = isTrusted ? [] : [.debugger]
        let expected = TokenClaims(
            exp: now + 300, iat: now, arc: result.arc, pay: pay, iss: account.store.account, aud: AuthorityBench.host,
            anno: claims.anno)
        #expect(claims == expected)
        let arc = try account.store.decodeARC(result.arc)
        #expect(arc.reasons == reasons)
        #expect(arc.deviceHint == [0, 0, 0, 0])
        #expect(arc.issuedAt.timeIntervalSince1970 == 0)
        let example = try unverifiedParts(of: account.store.exampleToken(forHost: AuthorityBench.host, isValid: isTrusted)).claims
        #expect(example.did == nil && example.sub == nil)
        #expect(example.ip == nil)
        #expect(try account.store.decodeARC(example.arc ?? "").deviceHint == [0, 0, 0, 0])
    }

    @Test("ARCs for an oblivious host contain nothing but the verdict, and their texts always differ")
    func obliviousCodes() async throws {
        let account = try await AuthorityBench()
        let keys = try GatewayKeyring([GatewayKey(id: 1)]).configurations.encoded()
        try await account.store.setOblivious(ObliviousSettings(relay: "https://relay.example.com/", keyConfig: Base64.encode(keys)))
        try await account.store.addHost(AuthorityBench.host, settings: HostSettings(pins: AuthorityBench.pins, oblivious: true))
        for environment in [[], ["debugger"]] as [[String]] {
            let first = try await account.attest(account.evidence { $0.environment = environment }).arc
            account.clock.advance(by: .seconds(5))
            let again = try await account.attest(account.evidence { $0.environment = environment }).arc
            let other = try await account.attest(account.evidence(key: P256.Signing.PrivateKey()) { $0.environment = environment }).arc
            // Decoded with the account's key, the three codes are equal.
            #expect(try account.store.decodeARC(first) == account.store.decodeARC(again))
            #expect(try account.store.decodeARC(first) == account.store.decodeARC(other))
            #expect(Set([first, again, other]).count == 3)
        }
    }

    @Test("Evidence without payHash gets a token without pay")
    func unbound() async throws {
        let account = try await AuthorityBench()
        #expect(try account.verify(try await account.attest(account.evidence()).token).claims.pay == nil)
    }

    @Test("Evidence of an unregistered executable gets a decoy, which looks like a token and does not verify")
    func decoy() async throws {
        let account = try await AuthorityBench()
        let genuine = try await account.attest(account.evidence())
        let decoy = try await account.attest(
            account.evidence { $0.measurements = ["executable": Base64.encode([UInt8](repeating: 9, count: 32))] })
        #expect(code(as: TokenError.self) { try account.verify(decoy.token) } == .badSignature)
        let (genuineHeader, genuineClaims) = try unverifiedParts(of: genuine.token)
        let (decoyHeader, decoyClaims) = try unverifiedParts(of: decoy.token)
        #expect(genuineHeader == decoyHeader)
        #expect(try genuineClaims.json.object().keys.sorted() == decoyClaims.json.object().keys.sorted())
        #expect(genuine.token.utf8.count == decoy.token.utf8.count)
        #expect(decoy.rejectionReasons == nil)
        #expect(decoyClaims.anno == nil)
        #expect(decoy.arc.count == genuine.arc.count)
        #expect(try account.store.decodeARC(decoy.arc).reasons == [.appNotRegistered])
    }

    @Test("Evidence without any measurement gets a token that does not verify")
    func unmeasured() async throws {
        let account = try await AuthorityBench()
        let result = try await account.attest(account.evidence { $0.measurements = [:] })
        #expect(throws: TokenError.self) { try account.verify(result.token) }
    }

    @Test("With the policy on, a failed result contains the rejection reasons, and a passed one contains none")
    func reasons() async throws {
        let account = try await AuthorityBench()
        try await account.store.setRejectionReasons(true)
        let failed = try await account.attest(
            account.evidence {
                $0.measurements = [:]
                $0.environment = ["debugger"]
            })
        #expect(failed.rejectionReasons == ["app-not-registered", "debugger"])
        #expect(try await account.attest(account.evidence()).rejectionReasons == nil)
    }

    @Test(
        "Debugger and LD_PRELOAD flags, also uncertain ones, fail the evidence; root and unknown flags do not",
        arguments: [
            ("debugger", false), ("debugger-unknown", false), ("ld-preload", false), ("ld-preload-unknown", false), ("root", true),
            ("made-up", true),
        ])
    func environment(flag: String, passes: Bool) async throws {
        let account = try await AuthorityBench()
        let result = try await account.attest(account.evidence { $0.environment = [flag] })
        #expect(((try? account.verify(result.token)) != nil) == passes)
        let annotations = try unverifiedParts(of: result.token).claims.anno
        #expect(annotations == (flag == "root" ? ["root"] : nil))
    }

    @Test("The account's policy decides what an environment flag does")
    func policy() async throws {
        let account = try await AuthorityBench()
        try await account.store.setEnvironmentAction(.reject, for: .root)
        try await account.store.setEnvironmentAction(.ignore, for: .debugger)
        let root = try await account.attest(account.evidence { $0.environment = ["root"] })
        #expect(throws: TokenError.self) { try account.verify(root.token) }
        let debugger = try await account.attest(account.evidence { $0.environment = ["debugger"] })
        #expect(try account.verify(debugger.token).claims.anno == nil)
    }

    @Test("A challenge can be used only once")
    func replay() async throws {
        let account = try await AuthorityBench()
        let evidence = try account.evidence()
        _ = try await account.attest(evidence)
        #expect(await problem { _ = try await account.attest(evidence) } == .challengeUsed)
    }

    @Test("Of 50 concurrent attempts with one challenge, exactly one succeeds")
    func replayAtOnce() async throws {
        let account = try await AuthorityBench()
        let challenge = account.verifier.challenge().value
        let names = try await withThrowingTaskGroup(of: Problem.Name?.self) { group in
            for index in 0..<50 {
                let evidence = try account.evidence(challenge: challenge) { $0.appID = "\(index)" }
                group.addTask { await problem { _ = try await account.attest(evidence) } }
            }
            return try await group.reduce(into: [Problem.Name?]()) { $0.append($1) }
        }
        #expect(names.filter { $0 == nil }.count == 1)
        #expect(names.filter { $0 == .challengeUsed }.count == 49)
    }

    @Test("A fresh challenge is valid for 60 seconds")
    func expiry() async throws {
        let account = try await AuthorityBench()
        let early = try account.evidence()
        let late = try account.evidence()
        account.clock.advance(by: .seconds(59))
        _ = try await account.attest(early)
        account.clock.advance(by: .seconds(1))
        #expect(await problem { _ = try await account.attest(late) } == .challengeExpired)
    }

    @Test("The challenge in a result is valid until 60 seconds after its token's end")
    func carriedChallenge() async throws {
        let account = try await AuthorityBench()
        let challenge = try #require(try await account.attest(account.evidence()).challenge)
        #expect(challenge.expiresIn == 360)
        account.clock.advance(by: .seconds(359))
        let next = try await account.attest(account.evidence(challenge: challenge.value))
        account.clock.advance(by: .seconds(360))
        let late = try account.evidence(challenge: try #require(next.challenge).value)
        #expect(await problem { _ = try await account.attest(late) } == .challengeExpired)
    }

    @Test("A challenge that is made up, truncated or changed is unknown")
    func forgedChallenge() async throws {
        let account = try await AuthorityBench()
        let genuine = account.verifier.challenge().value
        var bytes = try #require(Base64URL.decode(genuine))
        // The last byte of the expiry. An attacker would like to have 64 seconds more.
        bytes[23] ^= 0x40
        for forged in ["", "AAAA", String(genuine.dropLast(4)), Base64URL.encode(bytes), String(repeating: "A", count: 76)] {
            #expect(await problem { _ = try await account.attest(account.evidence(challenge: forged)) } == .challengeUnknown)
        }
    }

    @Test("A challenge of another account is unknown")
    func foreignChallenge() async throws {
        let account = try await AuthorityBench()
        let other = try await AuthorityBench()
        #expect(
            await problem { _ = try await account.attest(account.evidence(challenge: other.verifier.challenge().value)) }
                == .challengeUnknown)
    }

    @Test("Evidence for another account, authority or host is rejected and does not spend its challenge")
    func foreign() async throws {
        let account = try await AuthorityBench()
        let challenge = account.verifier.challenge().value
        let flaws: [(Problem.Name, (inout Evidence) -> Void)] = [
            (.wrongAccount, { $0.account = "other" }),
            (.wrongAudience, { $0.aud = "https://other.example.com:8443" }),
            (.wrongAudience, { $0.aud = "http://authority.example.com:8443" }),
            (.wrongAudience, { $0.aud = "" }),
            (.unknownHost, { $0.host = "other.example.com" }),
            (.unknownHost, { $0.host = "sub.api.example.com" }),
            (.unknownHost, { $0.host = "api.example.com@evil.example" }),
            (.unknownHost, { $0.host = "" }),
        ]
        for (name, flaw) in flaws {
            let evidence = try account.evidence(challenge: challenge, flaw)
            #expect(await problem { _ = try await account.attest(evidence) } == name)
        }
        _ = try await account.attest(account.evidence(challenge: challenge))
    }

    @Test("The audience and the host are compared in their canonical spelling")
    func spellings() async throws {
        let account = try await AuthorityBench()
        let result = try await account.attest(
            account.evidence {
                $0.aud = "HTTPS://Authority.Example.com:8443/"
                $0.host = "API.example.com."
            })
        #expect(try account.verify(result.token).claims.aud == AuthorityBench.host)
    }

    @Test("Evidence with a wrong signature is rejected")
    func wrongSignature() async throws {
        let account = try await AuthorityBench()
        var evidence = try account.evidence()
        // Not the last character: its low bits are not part of the signature.
        let index = evidence.count - 5
        evidence[index] = evidence[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        #expect(await problem { _ = try await account.attest(evidence) } == .evidenceSignature)
    }

    @Test("Evidence signed by a key other than the one in its header is rejected")
    func foreignSignature() async throws {
        let account = try await AuthorityBench()
        let other = P256.Signing.PrivateKey()
        let parts = String(decoding: try account.evidence(), as: UTF8.self).split(separator: ".")
        let signature = try other.signature(for: Data("\(parts[0]).\(parts[1])".utf8))
        let forged = "\(parts[0]).\(parts[1]).\(Base64URL.encode(signature.rawRepresentation))"
        #expect(await problem { _ = try await account.attest(Array(forged.utf8)) } == .evidenceSignature)
    }

    @Test(
        "Malformed evidence is rejected", arguments: ["", "a.b", "a.b.c.d", "....", "{}", String(repeating: "a.", count: 4_000), "\u{0}"])
    func garbage(text: String) async throws {
        let account = try await AuthorityBench()
        #expect(await problem { _ = try await account.attest(Array(text.utf8)) } == .evidenceMalformed)
    }

    @Test("An access token or a configuration is not accepted as evidence")
    func crossType() async throws {
        let account = try await AuthorityBench()
        let token = try await account.attest(account.evidence()).token
        #expect(await problem { _ = try await account.attest(Array(token.utf8)) } == .evidenceMalformed)
        let configuration = try account.store.currentConfiguration()
        #expect(await problem { _ = try await account.attest(configuration.serialized) } == .evidenceMalformed)
    }

    @Test("Truncated evidence is rejected")
    func truncated() async throws {
        let account = try await AuthorityBench()
        let evidence = try account.evidence()
        for length in stride(from: 0, to: evidence.count, by: 7) {
            let name = await problem { _ = try await account.attest(Array(evidence[..<length])) }
            #expect(name == .evidenceMalformed || name == .evidenceSignature)
        }
    }

    @Test("Once a registration is removed, its measurement gets no token that verifies")
    func removedRegistration() async throws {
        let account = try await AuthorityBench()
        try await account.store.removeRegistration(AuthorityBench.measurement)
        let result = try await account.attest(account.evidence())
        #expect(throws: TokenError.self) { try account.verify(result.token) }
    }

    @Test("A registration counts until the second of its expiry; the code and the reasons then say that it expired")
    func expiredRegistration() async throws {
        let account = try await AuthorityBench()
        try await account.store.setRejectionReasons(true)
        try await account.store.addRegistration(AuthorityBench.measurement, label: "beta", expiresAt: account.store.now + 3_600)
        account.clock.advance(by: .seconds(3_599))
        _ = try account.verify(try await account.attest(account.evidence()).token)
        account.clock.advance(by: .seconds(1))
        let expired = try await account.attest(account.evidence())
        #expect(code(as: TokenError.self) { try account.verify(expired.token) } == .badSignature)
        #expect(expired.rejectionReasons == ["registration-expired"])
        #expect(try account.store.decodeARC(expired.arc).reasons == [.registrationExpired])
        try await account.store.addRegistration(AuthorityBench.measurement, label: "beta")
        _ = try account.verify(try await account.attest(account.evidence()).token)
    }

    @Test(
        "A reason that only the authority finds is not an environment flag, even if the app reports it as one",
        arguments: [.appNotRegistered, .registrationExpired, .alwaysFail, .developmentKeyWrong, .developmentKeyOff] as [RejectionReason])
    func noFlag(reason: RejectionReason) async throws {
        let account = try await AuthorityBench()
        let result = try await account.attest(account.evidence { $0.environment = [reason.rawValue] })
        #expect(try account.verify(result.token).claims.anno == nil)
        #expect(account.store.environmentAction(for: reason) == .reject)
        await refuses(.unsupported) { try await account.store.setEnvironmentAction(.ignore, for: reason) }
    }

    @Test("An always-pass device gets valid tokens that say so, whatever its executable and environment; another device does not")
    func alwaysPass() async throws {
        let account = try await AuthorityBench()
        try await account.store.setRejectionReasons(true)
        let deviceID = DeviceID(installationKey: account.key.publicKey)
        try await account.store.setDevicePolicy(.alwaysPass, for: deviceID, expiresAt: account.store.now + 60)
        func flawed(_ evidence: inout Evidence) {
            evidence.measurements = [:]
            evidence.environment = ["debugger", "root"]
        }
        let result = try await account.attest(account.evidence(flawed))
        #expect(try account.verify(result.token).claims.anno == ["always-pass", "root"])
        #expect(result.rejectionReasons == nil)
        #expect(try account.store.decodeARC(result.arc).reasons.isEmpty)
        #expect(try account.verify(try await account.attest(account.evidence()).token).claims.anno == ["always-pass"])

        let other = try await account.attest(account.evidence(key: P256.Signing.PrivateKey(), flawed))
        #expect(throws: TokenError.self) { try account.verify(other.token) }
        #expect(try unverifiedParts(of: other.token).claims.anno == ["root"])
        account.clock.advance(by: .seconds(60))
        #expect(try await account.attest(account.evidence(flawed)).rejectionReasons == ["app-not-registered", "debugger"])
    }

    @Test("Always-pass excuses neither signature nor challenge nor account")
    func alwaysPassExcusesNoForgery() async throws {
        let account = try await AuthorityBench()
        try await account.store.setDevicePolicy(.alwaysPass, for: DeviceID(installationKey: account.key.publicKey))
        // Evidence of another key that names this device.
        let other = P256.Signing.PrivateKey()
        let stolen = try account.evidence(key: other) { $0.deviceID = DeviceID(installationKey: account.key.publicKey) }
        #expect(await problem { _ = try await account.attest(stolen) } == .evidenceMalformed)
        let used = try account.evidence()
        _ = try await account.attest(used)
        #expect(await problem { _ = try await account.attest(used) } == .challengeUsed)
        #expect(await problem { _ = try await account.attest(account.evidence { $0.account = "other" }) } == .wrongAccount)
    }

    @Test("An always-fail device gets decoys that look like those of others; its code and the reasons say why")
    func alwaysFail() async throws {
        let account = try await AuthorityBench()
        try await account.store.setRejectionReasons(true)
        let genuine = try await account.attest(account.evidence())
        try await account.store.setDevicePolicy(
            .alwaysFail, for: DeviceID(installationKey: account.key.publicKey), expiresAt: account.store.now + 60)
        let result = try await account.attest(account.evidence())
        #expect(code(as: TokenError.self) { try account.verify(result.token) } == .badSignature)
        #expect(try unverifiedParts(of: result.token).claims.anno == nil && result.token.utf8.count == genuine.token.utf8.count)
        #expect(result.rejectionReasons == ["always-fail"])
        #expect(try account.store.decodeARC(result.arc).reasons == [.alwaysFail])
        account.clock.advance(by: .seconds(60))
        _ = try account.verify(try await account.attest(account.evidence()).token)
    }

    @Test("A build that proves the development key passes, and its token says so")
    func developmentKey() async throws {
        let account = try await AuthorityBench()
        try await account.store.setAcceptsDevelopmentKey(true)
        let result = try await account.attestDeveloping(with: try #require(account.store.developmentKey)) {
            $0.measurements = [:]
            $0.environment = ["debugger"]
        }
        #expect(try account.verify(result.token).claims.anno == ["dev-key"])
        #expect(try account.store.decodeARC(result.arc).reasons.isEmpty)
        let registered = try await account.attestDeveloping(with: try #require(account.store.developmentKey))
        #expect(try account.verify(registered.token).claims.anno == ["dev-key"])
        #expect(try account.verify(try await account.attest(account.evidence()).token).claims.anno == nil)
    }

    @Test("A registration that is removed while the challenge waits for the store gives no genuine token any more")
    func revokedMeanwhile() async throws {
        let account = try await AuthorityBench()
        let evidence = try account.evidence()
        let (holds, mayCommit) = (Gate(), DispatchSemaphore(value: 0))
        // Another process's change, which this one loads at its next upkeep.
        let other = try AuthorityStore(directory: account.directory.url, time: account.clock)
        let removal = Task {
            try await other.change { database in
                try database.execute(sql: "DELETE FROM registration")
                holds.open()
                mayCommit.wait()
            }
        }
        try await holds.wait()
        let attestation = Task { try await account.attest(evidence) }
        #expect(await eventually { await account.store.redemptions.isBusy })
        mayCommit.signal()
        try await removal.value
        let token = try await attestation.value.token
        #expect(throws: TokenError.self) { try account.verify(token) }
    }

    @Test("A development key that is rotated, of another installation or challenge, malformed or switched off is rejected with its reason")
    func wrongDevelopmentKey() async throws {
        let account = try await AuthorityBench()
        try await account.store.setRejectionReasons(true)
        try await account.store.setAcceptsDevelopmentKey(true)
        let key = try #require(account.store.developmentKey)
        func reasons(proof: String?, registered: Bool = false) async throws -> [String]? {
            let result = try await account.attest(
                account.evidence {
                    $0.developmentKey = proof ?? key.proof(challenge: $0.challenge, installationKey: account.key.publicKey)
                    if !registered { $0.measurements = [:] }
                })
            if result.rejectionReasons != nil { #expect(throws: TokenError.self) { try account.verify(result.token) } }
            // A decoy says what the app already knows, so that it cannot tell its verdict.
            #expect(try unverifiedParts(of: result.token).claims.anno == ["dev-key"])
            return result.rejectionReasons
        }
        #expect(try await reasons(proof: nil) == nil)
        let wrong = ["app-not-registered", "development-key-wrong"]
        let stranger = key.proof(challenge: account.verifier.challenge().value, installationKey: P256.Signing.PrivateKey().publicKey)
        let stale = key.proof(challenge: account.verifier.challenge().value, installationKey: account.key.publicKey)
        for proof in ["", "garbage", key.base64url, stranger, stale, Base64URL.encode([UInt8](repeating: 0, count: 32)), "\n"] {
            #expect(try await reasons(proof: proof) == wrong)
        }
        // A wrong key is rejected in a registered build, too.
        #expect(try await reasons(proof: "garbage", registered: true) == ["development-key-wrong"])

        try await account.store.changeDevelopmentKey()
        #expect(try await reasons(proof: nil) == wrong)
        try await account.store.setAcceptsDevelopmentKey(false)
        for proof in [nil, "garbage"] {
            #expect(try await reasons(proof: proof) == ["app-not-registered", "development-key-off"])
        }
    }

    @Test("The development key excuses neither a device that always fails nor evidence that is not judged")
    func developmentKeyLimits() async throws {
        let account = try await AuthorityBench()
        try await account.store.setAcceptsDevelopmentKey(true)
        let key = try #require(account.store.developmentKey)
        try await account.store.setDevicePolicy(.alwaysFail, for: DeviceID(installationKey: account.key.publicKey))
        let failed = try await account.attestDeveloping(with: key)
        #expect(try account.store.decodeARC(failed.arc).reasons == [.alwaysFail])
        #expect(try unverifiedParts(of: failed.token).claims.anno == ["dev-key"])
        try await account.store.setDevicePolicy(.alwaysPass, for: DeviceID(installationKey: account.key.publicKey))
        let both = try await account.attestDeveloping(with: key) { $0.measurements = [:] }
        #expect(try account.verify(both.token).claims.anno == ["always-pass", "dev-key"])
        // always-pass excuses measurements and environment, and not a wrong key.
        let wrong = try await account.attestDeveloping(with: .generate())
        #expect(try account.store.decodeARC(wrong.arc).reasons == [.developmentKeyWrong])
        #expect(await problem { _ = try await account.attestDeveloping(with: key) { $0.account = "other" } } == .wrongAccount)
    }

    @Test("A token issued after a change of secret verifies only with the new secret")
    func changedSecret() async throws {
        let account = try await AuthorityBench()
        let old = account.store.accountSecret
        try await account.store.changeAccountSecret()
        let token = try await account.attest(account.evidence()).token
        _ = try account.verify(token)
        #expect(throws: TokenError.self) { try TokenVerifier(keys: [.hs256(old)], time: account.clock).verify(token) }
    }

    @Test(
        "A host with a keyset gets tokens signed by it, and decoys with HS256 and the same kid", arguments: [TokenAlgorithm.es256, .rs256])
    func keyset(algorithm: TokenAlgorithm) async throws {
        let account = try await AuthorityBench()
        try await account.store.addKeyset(algorithm, kid: "k1")
        try await account.store.addHost(AuthorityBench.host, settings: HostSettings(pins: AuthorityBench.pins, kid: "k1"))
        let token = try account.verify(try await account.attest(account.evidence()).token)
        #expect(token.algorithm == algorithm)
        #expect(token.kid == "k1")
        let decoy = try await account.attest(account.evidence { $0.measurements = [:] })
        #expect(throws: TokenError.self) { try account.verify(decoy.token) }
        let header = try unverifiedParts(of: decoy.token).header
        #expect(try header.string("alg") == "HS256")
        #expect(try header.string("kid") == "k1")
    }

    @Test("With the audience off, tokens and decoys have no aud, and a verifier with an audience rejects the tokens")
    func noAudience() async throws {
        let account = try await AuthorityBench()
        #expect(try account.verify(try await account.attest(account.evidence()).token).claims.aud == AuthorityBench.host)
        try await account.store.setNamesAudience(false)
        let token = try await account.attest(account.evidence()).token
        let claims = try account.verify(token, audience: nil).claims
        #expect(claims.aud == nil)
        #expect(claims.did != nil && claims.ipk != nil)
        #expect(code(as: TokenError.self) { try account.verify(token) } == .wrongAudience)
        let decoy = try await account.attest(account.evidence { $0.measurements = [:] })
        #expect(try unverifiedParts(of: decoy.token).claims.aud == nil)
    }

    @Test("Issuer, subject and installation key are in tokens and decoys as the policy says", arguments: [true, false])
    func claimsByPolicy(isOn: Bool) async throws {
        let account = try await AuthorityBench()
        try await account.store.setNamesIssuer(isOn)
        try await account.store.setNamesSubject(isOn)
        try await account.store.setIncludesInstallationKey(isOn)
        let genuine = try account.verify(try await account.attest(account.evidence()).token).claims
        let decoy = try unverifiedParts(of: try await account.attest(account.evidence { $0.measurements = [:] }).token).claims
        let did = DeviceID(installationKey: account.key.publicKey).base64
        for claims in [genuine, decoy] {
            #expect(claims.iss == (isOn ? account.store.account : nil))
            #expect(claims.sub == (isOn ? "approov|\(did)" : nil))
            #expect(claims.ipk == (isOn ? Base64.encode(account.key.publicKey.derRepresentation) : nil))
            #expect(claims.did == did && claims.aud == AuthorityBench.host)
        }
        #expect(try genuine.json.object().keys == decoy.json.object().keys)
    }

    @Test("A limited-use token has a random jti and lives 60 seconds, and so has a decoy; other tokens have no jti")
    func limitedUse() async throws {
        let account = try await AuthorityBench()
        let now = Int64(account.clock.date.timeIntervalSince1970)
        let ordinary = try account.verify(try await account.attest(account.evidence()).token).claims
        #expect(ordinary.jti == nil)
        var identifiers: Set<String> = []
        for _ in 0..<3 {
            let result = try await account.attest(account.evidence { $0.limitedUse = true })
            let genuine = try account.verify(result.token).claims
            #expect(result.expiresIn == 60 && genuine.exp == now + 60 && genuine.iat == now)
            #expect(result.challenge?.expiresIn == 120)
            let decoy = try await account.attest(
                account.evidence {
                    $0.limitedUse = true
                    $0.measurements = [:]
                })
            let claims = try unverifiedParts(of: decoy.token).claims
            #expect(code(as: TokenError.self) { try account.verify(decoy.token) } == .badSignature)
            #expect(decoy.expiresIn == 60 && claims.exp == now + 60 && decoy.token.utf8.count == result.token.utf8.count)
            for jti in [genuine.jti, claims.jti] {
                #expect(Base64URL.decode(try #require(jti))?.count == 16)
                identifiers.insert(try #require(jti))
            }
        }
        #expect(identifiers.count == 6)
    }

    @Test("A limited-use token lives no longer than other tokens, and one for an oblivious host names no device either")
    func limitedUseBounds() async throws {
        let short = try await AuthorityBench(tokenLifetime: 20)
        #expect(try await short.attest(short.evidence { $0.limitedUse = true }).expiresIn == 20)
        let account = try await AuthorityBench()
        let keys = try GatewayKeyring([GatewayKey(id: 1)]).configurations.encoded()
        try await account.store.setOblivious(ObliviousSettings(relay: "https://relay.example.com/", keyConfig: Base64.encode(keys)))
        try await account.store.addHost(AuthorityBench.host, settings: HostSettings(pins: AuthorityBench.pins, oblivious: true))
        let claims = try account.verify(try await account.attest(account.evidence { $0.limitedUse = true }).token).claims
        #expect(claims.jti != nil && claims.did == nil && claims.ip == nil && claims.ipk == nil && claims.sub == nil)
    }

    @Test("A result contains the configuration that is newer than the one that the evidence names")
    func configurations() async throws {
        let account = try await AuthorityBench()
        let version = account.store.configurationVersion
        #expect(try await account.attest(account.evidence { $0.configVersion = version }).configurations.isEmpty)
        let result = try await account.attest(account.evidence { $0.configVersion = version - 1 })
        #expect(result.configurations == [try account.store.currentConfiguration()])
    }

    @Test("A clock that goes back makes no used challenge valid again, even if its redemption is forgotten")
    func clockStepsBack() async throws {
        let account = try await AuthorityBench()
        let evidence = try account.evidence()
        _ = try await account.attest(evidence)
        let start = account.clock.date
        account.clock.advance(by: .seconds(3_600))
        try await account.store.redemptions.purge(expiredBefore: account.store.now - 60)
        account.clock.setDate(start)
        #expect(await problem { _ = try await account.attest(evidence) } == .challengeUnknown)
        #expect(await problem { _ = try await account.attest(evidence) } == .challengeUnknown)
    }

    @Test("After a clock was an hour ahead and is corrected, an app still gets a token")
    func clockWasAhead() async throws {
        let account = try await AuthorityBench()
        _ = try await account.attest(account.evidence())
        let start = account.clock.date
        account.clock.advance(by: .seconds(3_600))
        try await account.store.redemptions.purge(expiredBefore: account.store.now - 60)
        account.clock.setDate(start.addingTimeInterval(1))
        #expect(try await account.verify(account.attest(account.evidence()).token).claims.aud == AuthorityBench.host)
    }

    @Test("After a clock is set back, earlier challenges are unknown, a new one works, and the log says why")
    func clockSetBack() async throws {
        let account = try await AuthorityBench()
        let other = try await AuthorityBench(directory: account.directory, clock: account.clock)
        let start = account.clock.date
        account.clock.advance(by: .seconds(7_200))
        let replayed = try account.evidence()
        _ = try await account.attest(replayed)
        let kept = try #require(try await account.attest(account.evidence()).challenge)
        account.clock.advance(by: .seconds(3_600))
        try await account.store.redemptions.purge(expiredBefore: account.store.now - 60)
        account.clock.setDate(start)
        // The first client learns that its challenge is not valid, asks for a new one, and gets its token.
        let record = LogRecord()
        let refused = try account.evidence()
        #expect(
            await problem { _ = try await account.verifier.attest(refused, from: nil, logger: record.logger) } == .challengeUnknown)
        let warnings = record.lines.filter { $0.hasPrefix("warning") }
        #expect(warnings.count == 1 && warnings.allSatisfy { $0.contains("clock was set back") && $0.contains("check the clock") })
        _ = try account.verify(try await account.attest(account.evidence()).token)
        // Earlier challenges stay unknown, in this process and in another one that has not refreshed yet.
        for verifier in [other, account] {
            for evidence in try [replayed, account.evidence(challenge: kept.value), refused] {
                #expect(await problem { _ = try await verifier.attest(evidence) } == .challengeUnknown)
            }
        }
        _ = try account.verify(try await other.attest(account.evidence(challenge: other.verifier.challenge().value)).token)
    }

    @Test("A challenge from one installation's result is unknown from another installation, and stays unspent")
    func boundChallenge() async throws {
        let account = try await AuthorityBench()
        let challenge = try #require(try await account.attest(account.evidence()).challenge).value
        let thief = P256.Signing.PrivateKey()
        for seconds in [0, 200, 159] {
            account.clock.advance(by: .seconds(seconds))
            #expect(await problem { _ = try await account.attest(account.evidence(challenge: challenge, key: thief)) } == .challengeUnknown)
        }
        _ = try account.verify(try await account.attest(account.evidence(challenge: challenge)).token)
    }

    @Test("A challenge of an older release, which is not bound to a key, is accepted only in its last 60 seconds")
    func olderChallenge() async throws {
        let account = try await AuthorityBench()
        let mint = account.store.snapshot.challenges
        let challenge = mint.make(now: account.store.now, lifetime: 360).value
        account.clock.advance(by: .seconds(299))
        #expect(await problem { _ = try await account.attest(account.evidence(challenge: challenge)) } == .challengeUnknown)
        account.clock.advance(by: .seconds(1))
        _ = try await account.attest(account.evidence(challenge: challenge))
    }

    @Test("An app with a newer configuration than the store's gets the store's, and causes a warning once an hour")
    func newerApp() async throws {
        let account = try await AuthorityBench()
        let newest = account.store.configurationVersion
        let record = LogRecord()
        func attest(_ version: Int64) async throws -> AttestationResult {
            try await account.verifier.attest(account.evidence { $0.configVersion = version }, from: nil, logger: record.logger)
        }
        #expect(try await attest(newest).configurations.isEmpty)
        #expect(!record.lines.contains { $0.hasPrefix("warning") })
        for _ in 0..<5 {
            #expect(try await attest(newest + 7).configurations == [account.store.currentConfiguration()])
        }
        func warnings() -> [String] { record.lines.filter { $0.hasPrefix("warning") } }
        #expect(warnings().count == 1)
        #expect(warnings().first?.contains("sdk -newEpoch") == true && warnings().first?.contains("older backup") == true)
        account.clock.advance(by: .seconds(3_600))
        _ = try await attest(newest + 7)
        #expect(warnings().count == 2)
        #expect(warnings().last?.contains("\"requests\": 5") == true, "\(warnings())")
        #expect(account.store.configurationVersion == newest, "an app's claim changes nothing in the store")
    }

    @Test("An app with other content under the store's version gets the store's, and causes a warning; the same content does not")
    func otherContent() async throws {
        let account = try await AuthorityBench()
        let newest = try account.store.currentConfiguration()
        let record = LogRecord()
        func attest(_ hash: String?, host: String = AuthorityBench.host) async throws -> AttestationResult {
            let evidence = try account.evidence {
                $0.configVersion = account.store.configurationVersion
                $0.configHash = hash
                $0.host = host
            }
            return try await account.verifier.attest(evidence, from: nil, logger: record.logger)
        }
        func warnings() -> [String] { record.lines.filter { $0.hasPrefix("warning") } }
        for hash in [nil, newest.payloadHash] { #expect(try await attest(hash).configurations.isEmpty) }
        #expect(warnings().isEmpty)
        let other = CustomClaims.hash(of: [1])
        for _ in 0..<3 { #expect(try await attest(other).configurations == [newest]) }
        #expect(warnings().count == 1)
        #expect(warnings().first?.contains("sdk -newEpoch") == true && warnings().first?.contains("a different configuration") == true)
        // The host that was added after the backup is unknown, and no evidence for it is judged.
        account.clock.advance(by: .seconds(3_600))
        #expect(await problem { _ = try await attest(other, host: "lost.example.com") } == .unknownHost)
        #expect(warnings().count == 2)
    }

    @Test("A newer version that another process has issued is loaded without a warning")
    func newerByAnother() async throws {
        let account = try await AuthorityBench()
        let other = try await AuthorityBench(directory: account.directory, clock: account.clock)
        try await other.store.addHost("b.example.com", settings: HostSettings(pins: AuthorityBench.pins))
        let record = LogRecord()
        let version = other.store.configurationVersion
        #expect(account.store.configurationVersion < version)
        let result = try await account.verifier.attest(
            account.evidence { $0.configVersion = version }, from: nil, logger: record.logger)
        #expect(result.configurations.isEmpty)
        #expect(!record.lines.contains { $0.hasPrefix("warning") })
    }
}
