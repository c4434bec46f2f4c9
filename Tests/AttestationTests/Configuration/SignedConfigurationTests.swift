import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

@Suite struct SignedConfigurationTests {
    private let account: TestAccount

    init() throws { account = try TestAccount() }

    @Test("A signed configuration survives a round trip through bytes and through JSON")
    func roundTrip() throws {
        let signed = try account.signed(version: 2)
        #expect(try SignedConfiguration(serialized: signed.serialized) == signed)
        #expect(try SignedConfiguration(json: signed.json) == signed)
        let payload = try JSONValue(reading: signed.payloadBytes, limit: 10_000)
        #expect(try DynamicConfiguration(json: payload) == account.configuration(version: 2))
    }

    @Test("The hash of the payload depends on the content only, not on the signatures")
    func payloadHash() throws {
        let signed = try account.signed(version: 2)
        let again = try account.signed(version: 2)
        #expect(signed != again && signed.payloadHash == again.payloadHash)
        #expect(Base64URL.decode(signed.payloadHash) == Array(SHA256.hash(data: signed.payloadBytes)))
        #expect(try account.signed(version: 3).payloadHash != signed.payloadHash)
    }

    @Test("The signature is plain ES256 over header and payload")
    func independentVerification() throws {
        let json = try account.signed(version: 2).json
        let signature = try json.member("signatures").array()[0]
        let signed = "\(try signature.string("protected")).\(try json.string("payload"))"
        let raw = try #require(Base64URL.decode(try signature.string("signature")))
        let parsed = try P256.Signing.ECDSASignature(rawRepresentation: raw)
        #expect(account.key.publicKey.isValidSignature(parsed, for: Data(signed.utf8)))
    }

    @Test("A JWS with a missing, malformed or additional member is rejected")
    func envelope() throws {
        let good = try account.signed(version: 2).json
        let signature = try good.member("signatures").array()[0]
        let unprotected = try signature.setting("header", to: .object([:]))
        let changes: [(String, JSONValue?)] = [
            ("payload", nil), ("payload", ""), ("payload", "A"), ("payload", "AA=="), ("payload", .integer(1)), ("signatures", nil),
            ("signatures", .array([])), ("signatures", .array([signature, signature, signature])), ("signatures", signature),
            ("signatures", .array([unprotected])), ("signatures", .array(["x"])), ("protected", "e30"), ("signature", "AA"),
            ("extra", .null),
        ]
        for (name, value) in changes {
            let error = try #require(throws: AttestationError.self, "\(name)") {
                try SignedConfiguration(json: try good.setting(name, to: value))
            }
            #expect([.malformedMember, .malformedSignature].contains(error.code), "\(error)")
        }
    }

    @Test(
        "Any other protected header is rejected, even when signed",
        arguments: [
            #"{}"#, #"{"alg":"none","typ":"approov-config+jws"}"#, #"{"alg":"es256","typ":"approov-config+jws"}"#,
            #"{"alg":"HS256","typ":"approov-config+jws"}"#, #"{"alg":"ES256"}"#, #"{"alg":"ES256","typ":"JWT"}"#,
            #"{"alg":"ES256","typ":"approov-evidence+jws"}"#, #"{"alg":"ES256","typ":"approov-config+jws","crit":["x"]}"#,
            #"{"alg":"ES256","typ":"approov-config+jws","jwk":{}}"#, #"{"alg":"ES256","typ":"approov-config+jws","kid":5}"#,
            #"{"alg":"ES256","typ":"approov-config+jws","b64":false}"#, #"{"alg":"none","alg":"ES256","typ":"approov-config+jws"}"#,
            #"["ES256"]"#, "",
        ])
    func header(text: String) throws {
        let protected = Base64URL.encode(Array(text.utf8))
        let payload = Base64URL.encode(account.configuration(version: 2).json.serialized())
        let signature = try account.key.signature(for: Array("\(protected).\(payload)".utf8)).rawRepresentation
        let json = JSONValue.object([
            "payload": .string(payload),
            "signatures": .array([.object(["protected": .string(protected), "signature": .string(Base64URL.encode(Array(signature)))])]),
        ])
        let error = try #require(throws: AttestationError.self) { try SignedConfiguration(json: json) }
        #expect([.malformedMember, .malformedSignature, .malformedJSON].contains(error.code), "\(error)")
    }

    @Test("A signature of 0, 63 or 65 bytes, or in DER, is rejected")
    func signatureLength() throws {
        let good = try account.signed(version: 2).json
        let signature = try good.member("signatures").array()[0]
        let der = Array(try account.key.signature(for: [1, 2, 3]).derRepresentation)
        for bytes in [[UInt8](repeating: 1, count: 63), [UInt8](repeating: 1, count: 65), der, []] {
            let changed = try signature.setting("signature", to: .string(Base64URL.encode(bytes)))
            #expect(code { try SignedConfiguration(json: try good.setting("signatures", to: .array([changed]))) } == .malformedSignature)
        }
    }

    @Test("A payload of 256 KiB is accepted; one byte more is rejected")
    func size() throws {
        let limit = DynamicConfiguration.maximumBytes
        let fits = try account.signedAnyway([UInt8](repeating: 0x20, count: limit))
        #expect(try SignedConfiguration(json: fits).payloadBytes.count == limit)
        let large = try account.signedAnyway([UInt8](repeating: 0x20, count: limit + 1))
        #expect(code { try SignedConfiguration(json: large) } == .tooLarge)
        let huge = JSONValue.object(["payload": .string(String(repeating: "A", count: 10_000_000)), "signatures": .array([])])
        #expect(code { try SignedConfiguration(json: huge) } == .tooLarge)
    }

    @Test("Signing without a key, with the same key twice or with three keys is an error")
    func keys() throws {
        let configuration = account.configuration(version: 2)
        let other = P256.Signing.PrivateKey()
        #expect(code { try SignedConfiguration(signing: configuration, by: []) } == .malformedSignature)
        #expect(code { try SignedConfiguration(signing: configuration, by: [account.key, account.key]) } == .malformedSignature)
        #expect(code { try SignedConfiguration(signing: configuration, by: [account.key, other, .init()]) } == .malformedSignature)
    }

    @Test("Stored bytes with additional white space are rejected")
    func spelling() throws {
        let bytes = try account.signed(version: 2).serialized
        for changed in [bytes + [0x0a], [0x20] + bytes, [UInt8(ascii: "{"), 0x20] + bytes.dropFirst()] {
            #expect(code { try SignedConfiguration(serialized: changed) } == .malformedSignature)
        }
    }
}
