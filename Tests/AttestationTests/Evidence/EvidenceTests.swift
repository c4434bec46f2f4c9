import ApproovBase
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct EvidenceTests {
    private let key = P256.Signing.PrivateKey()

    private func evidence(payHash: String? = Binding.payHash(of: "Bearer x")) -> Evidence {
        let request = EvidenceRequest(
            challenge: "Y2hhbGxlbmdl", audience: "https://authority.example.com", account: "test-account", host: "api.example.com",
            payHash: payHash, sdkVersion: "1.0.0", configVersion: 3)
        return Evidence(
            answering: request, iat: 1_700_000_000, deviceID: DeviceID(installationKey: key.publicKey), appID: "app", appVersion: "2",
            measurements: [Evidence.executableMeasurement: Base64.encode([UInt8](repeating: 7, count: 32))], environment: ["root"])
    }

    /// A JWS with the given header and payload, signed by `key`.
    private func jws(header: JSONValue, payload: JSONValue? = nil) throws -> String {
        let signed = Base64URL.encode(header.serialized()) + "." + Base64URL.encode((payload ?? evidence().json).serialized())
        return signed + "." + Base64URL.encode(Array(try key.signature(for: Array(signed.utf8)).rawRepresentation))
    }

    private var header: JSONValue {
        .object(["alg": "ES256", "jwk": PublicJWK(key.publicKey).json, "typ": .string(Evidence.type)])
    }

    @Test("Signed evidence verifies and contains what was signed", arguments: [nil, Binding.payHash(of: "Bearer x")])
    func roundTrip(payHash: String?) throws {
        let text = try evidence(payHash: payHash).signed(by: key)
        let verified = try VerifiedEvidence(verifying: text)
        #expect(verified.evidence == evidence(payHash: payHash))
        #expect(verified.installationKey.rawRepresentation == key.publicKey.rawRepresentation)
        #expect(verified.deviceID == DeviceID(installationKey: key.publicKey))
        #expect(try VerifiedEvidence(verifying: try jws(header: header)).evidence == evidence())
    }

    @Test("Evidence with a changed or added character, or truncated anywhere, is rejected")
    func altered() throws {
        let text = Array(try evidence().signed(by: key).utf8)
        for offset in text.indices {
            var changed = text
            changed[offset] = changed[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: AttestationError.self) { try VerifiedEvidence(verifying: changed) }
            #expect(throws: AttestationError.self) { try VerifiedEvidence(verifying: Array(text[..<offset])) }
        }
        for added in [".", "=", "\n", " ", ".AAAA", "\u{0}"] {
            #expect(code { try VerifiedEvidence(verifying: text + Array(added.utf8)) } == .malformedEvidence)
        }
    }

    @Test("A header with a missing, wrong or additional member is rejected even when signed")
    func headers() throws {
        let changes: [(String, JSONValue?)] = [
            ("alg", "none"), ("alg", "HS256"), ("alg", "es256"), ("alg", nil), ("alg", .array(["ES256"])), ("typ", "JWT"), ("typ", nil),
            ("typ", .string(SignedConfiguration.type)), ("jwk", nil), ("jwk", "key"), ("crit", .array(["x"])), ("jku", "https://x"),
            ("x5c", .array([])),
            ("kid", "1"), ("b64", .bool(false)), ("zip", "DEF"),
            ("jwk", PublicJWK(P256.Signing.PrivateKey().publicKey).json.self),
        ]
        for (name, value) in changes {
            let text = try jws(header: try header.setting(name, to: value))
            let error = try #require(throws: AttestationError.self, "\(name)") { try VerifiedEvidence(verifying: text) }
            #expect([.malformedEvidence, .malformedSignature].contains(error.code), "\(name): \(error)")
        }
    }

    @Test("A payload with a missing or malformed member is rejected even when signed; unknown members are ignored")
    func payloads() throws {
        let good = evidence().json
        for name in try good.object().keys where name != "payHash" {
            #expect(
                code { try VerifiedEvidence(verifying: try jws(header: header, payload: try good.setting(name, to: nil))) }
                    == .malformedEvidence)
            let wrong = try good.setting(name, to: .bool(true))
            #expect(code { try VerifiedEvidence(verifying: try jws(header: header, payload: wrong)) } == .malformedEvidence, "\(name)")
        }
        let changes: [(String, JSONValue)] = [
            ("payHash", "x"), ("payHash", .string(Base64.encode([1, 2]))), ("measurements", .object(["executable": "x"])),
            ("measurements", .object(Dictionary(uniqueKeysWithValues: (0..<40).map { ("\($0)", .string(Binding.payHash(of: "x"))) }))),
            ("environment", .array((0..<40).map { .string("\($0)") })), ("environment", .array([.integer(1)])),
            ("configVersion", .integer(-1)),
            ("iat", .real(1.5)), ("deviceID", "AAAA"),
        ]
        for (name, value) in changes {
            let text = try jws(header: header, payload: try good.setting(name, to: value))
            #expect(code { try VerifiedEvidence(verifying: text) } == .malformedEvidence, "\(name)")
        }
        let extra = try good.setting("tpm", to: .object(["quote": "later"]))
        #expect(try VerifiedEvidence(verifying: try jws(header: header, payload: extra)).evidence == evidence())
    }

    @Test("Evidence asks for a limited-use token only if the request does, and with nothing but true or false")
    func limitedUse() throws {
        #expect(!evidence().limitedUse)
        #expect(try evidence().json.object()["limitedUse"] == nil)
        var request = EvidenceRequest(
            challenge: "c", audience: "https://authority.example.com", account: "a", host: "h", sdkVersion: "1", configVersion: 0)
        #expect(!request.limitedUse)
        request.limitedUse = true
        let asked = Evidence(
            answering: request, iat: 1, deviceID: DeviceID(installationKey: key.publicKey), appID: "app", appVersion: "2",
            measurements: [:],
            environment: [])
        #expect(try VerifiedEvidence(verifying: try asked.signed(by: key)).evidence.limitedUse)
        for (value, isLimited) in [(.bool(true), true), (.bool(false), false), (.null, false)] as [(JSONValue, Bool)] {
            let text = try jws(header: header, payload: try evidence().json.setting("limitedUse", to: value))
            #expect(try VerifiedEvidence(verifying: text).evidence.limitedUse == isLimited)
        }
        for value in ["true", .integer(1), .array([]), .object([:])] as [JSONValue] {
            let text = try jws(header: header, payload: try evidence().json.setting("limitedUse", to: value))
            #expect(code { try VerifiedEvidence(verifying: text) } == .malformedEvidence)
        }
    }

    @Test("The proof of a development key is any text, which the authority judges, and nothing else")
    func developmentKey() throws {
        for (value, text) in [("garbage", "garbage"), ("", ""), (.null, nil)] as [(JSONValue, String?)] {
            let jws = try jws(header: header, payload: try evidence().json.setting("developmentKey", to: value))
            #expect(try VerifiedEvidence(verifying: jws).evidence.developmentKey == text)
        }
        for value in [.integer(1), .bool(true), .array(["x"]), .object([:])] as [JSONValue] {
            let jws = try jws(header: header, payload: try evidence().json.setting("developmentKey", to: value))
            #expect(code { try VerifiedEvidence(verifying: jws) } == .malformedEvidence)
        }
    }

    @Test("The device ID in the evidence must match the installation key")
    func deviceID() throws {
        let other = DeviceID(installationKey: P256.Signing.PrivateKey().publicKey)
        let payload = try evidence().json.setting("deviceID", to: .string(other.base64))
        let error = try #require(throws: AttestationError.self) {
            try VerifiedEvidence(verifying: try jws(header: header, payload: payload))
        }
        #expect(error.member == "deviceID")
    }

    @Test("Evidence over 16 KiB is neither signed nor parsed")
    func size() throws {
        var large = evidence()
        large.appID = String(repeating: "x", count: Evidence.maximumBytes)
        #expect(code { try large.signed(by: key) } == .tooLarge)
        #expect(code { try VerifiedEvidence(verifying: [UInt8](repeating: 0x41, count: 9_000_000)) } == .tooLarge)
        #expect(code { try VerifiedEvidence(verifying: String(repeating: ".", count: 16 * 1024)) } == .malformedEvidence)
    }

    @Test("A device ID is the first 16 bytes of the key's SHA-256, in padded base64")
    func deviceIDText() throws {
        let id = DeviceID(installationKey: key.publicKey)
        #expect(id.bytes.count == 16)
        #expect(Array(SHA256.hash(data: key.publicKey.derRepresentation).prefix(16)) == id.bytes)
        #expect(try DeviceID(base64: id.base64) == id)
        for text in ["", "AAAA", id.base64 + "=", String(id.base64.dropLast()), Base64URL.encode(id.bytes)] {
            #expect(code { try DeviceID(base64: text) } == .malformedEncoding)
        }
    }

    @Test("Evidence states the hash of the configuration in force; evidence of older releases does not")
    func configHash() throws {
        let hash = CustomClaims.hash(of: [1, 2, 3])
        #expect(try evidence().json.object()["configHash"] == nil)
        let request = EvidenceRequest(
            challenge: "AAAA", audience: "https://a.example", account: "a", host: "h", sdkVersion: "1", configVersion: 1, configHash: hash)
        let answer = Evidence(
            answering: request, iat: 1, deviceID: DeviceID(installationKey: key.publicKey), appID: "a", appVersion: "1", measurements: [:],
            environment: [])
        #expect(try VerifiedEvidence(verifying: try answer.signed(by: key)).evidence.configHash == hash)
        for wrong in ["", "AAAA", hash + "=", String(hash.dropLast())] {
            let payload = try answer.json.setting("configHash", to: .string(wrong))
            #expect(code { try VerifiedEvidence(verifying: try jws(header: header, payload: payload)) } == .malformedEvidence, "\(wrong)")
        }
    }

    @Test("Evidence contains the hash of the custom claims beside it, and no such member without them")
    func customClaimsHash() throws {
        #expect(try evidence().json.object()["customClaimsHash"] == nil)
        let hash = CustomClaims.hash(of: [1, 2, 3])
        var covering = evidence()
        covering.customClaimsHash = hash
        #expect(try VerifiedEvidence(verifying: try covering.signed(by: key)).evidence.customClaimsHash == hash)
        let request = EvidenceRequest(
            challenge: "AAAA", audience: "https://a.example", account: "a", host: "h", sdkVersion: "1", configVersion: 1,
            customClaimsHash: hash)
        let answer = Evidence(
            answering: request, iat: 1, deviceID: DeviceID(installationKey: key.publicKey), appID: "a", appVersion: "1", measurements: [:],
            environment: [])
        #expect(answer.customClaimsHash == hash)
        for wrong in ["", "AAAA", hash + "=", String(repeating: "=", count: 43), String(hash.dropLast())] {
            let payload = try covering.json.setting("customClaimsHash", to: .string(wrong))
            #expect(code { try VerifiedEvidence(verifying: try jws(header: header, payload: payload)) } == .malformedEvidence, "\(wrong)")
        }
    }
}
