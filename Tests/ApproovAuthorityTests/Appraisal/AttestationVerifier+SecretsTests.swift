import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import Foundation
import Testing

@testable import ApproovAuthority

/// What a result brings besides the token, and to whom.
@Suite struct AttestationVerifierSecretsTests {
    private static let claims = Array(#"{"aud":"partner.example","role":"admin"}"#.utf8)

    private func attest(
        _ account: AuthorityBench, claims: [UInt8]? = nil, _ change: (inout Evidence) -> Void = { _ in }
    ) async throws -> AttestationResult {
        let evidence = try account.evidence {
            $0.customClaimsHash = claims.map(CustomClaims.hash(of:))
            change(&$0)
        }
        return try await account.verifier.attest(evidence, customClaims: claims, from: "127.0.0.1", logger: .silent)
    }

    /// An account with a string, a message-signing key and custom JWTs.
    private func account() async throws -> AuthorityBench {
        let account = try await AuthorityBench()
        try await account.store.setSecureString("secret-value", for: "maps-key")
        try await account.store.changeMessageSigningKey()
        try await account.store.addKeyset(.es256, kid: "partner", use: .custom)
        try await account.store.setAllowsCustomTokens(true)
        return account
    }

    private func problem(_ body: () async throws -> Void) async -> Problem.Name? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? Problem)?.name
        }
    }

    @Test("Genuine evidence brings all secure strings, or an empty object; a change arrives with the next attestation")
    func strings() async throws {
        let account = try await AuthorityBench()
        #expect(try await attest(account).secureStrings == [:])
        try await account.store.setSecureString("one", for: "a")
        try await account.store.setSecureString("two", for: "b")
        #expect(try await attest(account).secureStrings == ["a": "one", "b": "two"])
        try await account.store.setSecureString("three", for: "b")
        try await account.store.removeSecureString("a")
        #expect(try await attest(account).secureStrings == ["b": "three"])
    }

    @Test("Genuine evidence brings the message-signing key that the token names; an account without a key brings neither")
    func signingKey() async throws {
        let account = try await AuthorityBench()
        let without = try await attest(account)
        #expect(try without.messageSigningKey == nil && account.verify(without.token).claims.mskid == nil)
        let key = try await account.store.changeMessageSigningKey()
        let with = try await attest(account)
        #expect(with.messageSigningKey == key)
        #expect(try account.verify(with.token).claims.mskid == key.id)
    }

    @Test("Rejected evidence brings no string, no custom JWT, and each time a random key in the form of the account's, under its ID")
    func rejected() async throws {
        let account = try await account()
        let key = try #require(account.store.messageSigningKey)
        var keys: Set<[UInt8]> = [key.key]
        for _ in 0..<3 {
            let result = try await attest(account, claims: Self.claims) { $0.environment = ["debugger"] }
            #expect(result.secureStrings == nil && result.customToken == nil)
            let random = try #require(result.messageSigningKey)
            #expect(random.id == key.id && random.key.count == key.key.count && random.key.starts(with: key.id.utf8))
            #expect(String(decoding: random.key, as: UTF8.self).wholeMatch(of: /[A-Za-z0-9_-]+/) != nil)
            #expect(keys.insert(random.key).inserted)
            #expect(try unverifiedParts(of: result.token).claims.mskid == key.id)
            let text = String(decoding: result.json.serialized(), as: UTF8.self)
            #expect(!text.contains("secret-value") && !text.contains("maps-key") && !text.contains(Base64.encode(key.key)))
        }
    }

    @Test("Evidence for an oblivious host brings no strings and no key, and its token names no key", arguments: [true, false])
    func oblivious(isTrusted: Bool) async throws {
        let account = try await account()
        try await account.makeOblivious()
        let result = try await attest(account) { if !isTrusted { $0.environment = ["debugger"] } }
        // The empty list says that the app is genuine.
        #expect(result.secureStrings == (isTrusted ? [:] : nil) && result.messageSigningKey == nil && result.customToken == nil)
        #expect(try unverifiedParts(of: result.token).claims.mskid == nil)
    }

    @Test(
        "An unregistered build that is excused gets neither strings nor a custom JWT; a registered one gets both")
    func excused() async throws {
        let account = try await account()
        try await account.store.changeDevelopmentKey()
        try await account.store.setAcceptsDevelopmentKey(true)
        let developmentKey = try #require(account.store.developmentKey)
        func attest(_ measurements: [String: String], proves: Bool) async throws -> AttestationResult {
            try await self.attest(account, claims: Self.claims) {
                $0.measurements = measurements
                if proves {
                    $0.developmentKey = developmentKey.proof(challenge: $0.challenge, installationKey: account.key.publicKey)
                }
            }
        }
        let registered = ["executable": AuthorityBench.measurement]
        for proves in [true, false] {
            if !proves {
                try await account.store.setDevicePolicy(.alwaysPass, for: DeviceID(installationKey: account.key.publicKey))
            }
            let excused = try await attest([:], proves: proves)
            _ = try account.verify(excused.token)
            #expect(excused.secureStrings == nil && excused.customToken == nil)
            #expect(excused.messageSigningKey == account.store.messageSigningKey)
            let genuine = try await attest(registered, proves: proves)
            #expect(genuine.secureStrings == ["maps-key": "secret-value"] && genuine.customToken != nil)
        }
    }

    @Test("Genuine evidence gets the custom JWT that it covers, with a token's lifetime and the custom keyset's signature")
    func customToken() async throws {
        let account = try await account()
        let now = account.store.now
        #expect(try await attest(account).customToken == nil)
        let result = try await attest(account, claims: Self.claims)
        let token = try #require(result.customToken)
        let parts = token.split(separator: ".").map { Base64URL.decode(String($0)) ?? [] }
        #expect(
            try JSONValue(parsing: parts[0], limit: 1_000)
                == .object(["alg": "ES256", "kid": "partner", "typ": .string(CustomClaims.type)]))
        #expect(
            try JSONValue(parsing: parts[1], limit: 1_000)
                == .object([
                    "aud": "partner.example", "role": "admin", "iss": .string(account.store.account), "iat": .integer(now),
                    "exp": .integer(now + 300),
                ]))
        let pem = try #require(account.store.customKeyset?.publicPEM)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: parts[2])
        let signed = Data(token.split(separator: ".").prefix(2).joined(separator: ".").utf8)
        #expect(try P256.Signing.PublicKey(pemRepresentation: pem).isValidSignature(signature, for: signed))
        _ = try account.verify(result.token)
    }

    @Test("The account's verifier and one with the account secret alone reject a custom JWT")
    func noToken() async throws {
        let account = try await account()
        let claims = Array(#"{"aud":"\#(AuthorityBench.host)"}"#.utf8)
        let token = try #require(try await attest(account, claims: claims).customToken)
        #expect(code(as: TokenError.self) { try account.verify(token) } == .malformed)
        let secretOnly = try TokenVerifier(keys: [.hs256(account.store.accountSecret)], time: account.clock)
        #expect(code(as: TokenError.self) { try secretOnly.verify(token) } == .malformed)
    }

    @Test("Claims that the evidence does not cover, or a hash without claims, are refused and use up no challenge")
    func coverage() async throws {
        let account = try await account()
        let challenge = account.verifier.challenge().value
        let other = Array(#"{"aud":"partner.example","role":"root"}"#.utf8)
        let attempts: [(claims: [UInt8]?, covered: [UInt8]?)] = [
            (Self.claims, nil), (nil, Self.claims), (Self.claims, other), (Self.claims + [32], Self.claims), ([], Self.claims),
        ]
        for (claims, covered) in attempts {
            let evidence = try account.evidence(challenge: challenge) { $0.customClaimsHash = covered.map(CustomClaims.hash(of:)) }
            let name = await problem {
                _ = try await account.verifier.attest(evidence, customClaims: claims, from: nil, logger: .silent)
            }
            #expect(name == .evidenceMalformed)
        }
        _ = try await account.attest(account.evidence(challenge: challenge))
    }

    @Test(
        "Claims that cannot be signed are bad-payload, for genuine and other apps, and use up no challenge",
        arguments: [
            "", "[]", "\"x\"", #"{"role":"admin"}"#, #"{"aud":"x","exp":1}"#, #"{"aud":"x","nbf":1}"#, #"{"aud":"x","did":"x"}"#,
            #"{"aud":"x","a":1,"a":2}"#, #"{"aud":["x"]}"#, #"{"aud":"x","a":"\#(String(repeating: "a", count: 4_096))"}"#,
        ])
    func badPayload(text: String) async throws {
        let account = try await account()
        let challenge = account.verifier.challenge().value
        for environment in [[], ["debugger"]] {
            let name = await problem {
                _ = try await attest(account, claims: Array(text.utf8)) {
                    $0.challenge = challenge
                    $0.environment = environment
                }
            }
            #expect(name == .badPayload)
        }
        _ = try await account.attest(account.evidence(challenge: challenge))
    }

    @Test("A request for a custom JWT is refused as disabled while they are off or have no keyset; tokens are still issued")
    func disabled() async throws {
        let account = try await AuthorityBench()
        func refusal() async -> Problem.Name? { await problem { _ = try await attest(account, claims: Self.claims) } }
        #expect(await refusal() == .disabled)
        try await account.store.setAllowsCustomTokens(true)
        #expect(await refusal() == .disabled)
        try await account.store.addKeyset(.es256, kid: "tokens")
        #expect(await refusal() == .disabled)
        try await account.store.addKeyset(.es256, kid: "partner", use: .custom)
        #expect(try await attest(account, claims: Self.claims).customToken != nil)
        try await account.store.setAllowsCustomTokens(false)
        #expect(await refusal() == .disabled)
        _ = try account.verify(try await attest(account).token)
    }

    @Test("No log line at any level has a secure string, a key or a custom JWT")
    func logs() async throws {
        let account = try await account()
        let record = LogRecord()
        let key = try #require(account.store.messageSigningKey)
        for environment in [[], ["debugger"]] {
            let evidence = try account.evidence {
                $0.customClaimsHash = CustomClaims.hash(of: Self.claims)
                $0.environment = environment
            }
            _ = try await account.verifier.attest(evidence, customClaims: Self.claims, from: nil, logger: record.logger)
        }
        let text = record.lines.joined(separator: "\n")
        #expect(record.lines.count == 2)
        for secret in ["secret-value", "maps-key", key.id, key.base64url, "partner", "admin"] { #expect(!text.contains(secret)) }
    }
}
