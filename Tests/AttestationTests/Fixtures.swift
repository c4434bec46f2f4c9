import ApproovBase
import ApproovTesting
import Attestation
import Crypto
import Foundation
import Testing

extension TestAccount {
    /// How long configurations are valid by default, in seconds.
    static let lifetime = expiresAt - issuedAt
    /// A time at which configurations are valid.
    static let now = Date(timeIntervalSince1970: TimeInterval(issuedAt + 60))

    var jwk: PublicJWK { PublicJWK(key.publicKey) }

    func state(version: Int64 = 1) throws -> ConfigurationState {
        try ConfigurationState(initial: initial(configuration(version: version)))
    }

    /// Signs any payload in the authority's format, even one that breaks the rules.
    func signedAnyway(
        _ payload: [UInt8], by key: P256.Signing.PrivateKey? = nil, typ: String = SignedConfiguration.type
    ) throws -> JSONValue {
        let key = key ?? self.key
        let protected = Base64URL.encode(JSONValue.object(["alg": "ES256", "typ": .string(typ)]).serialized())
        let text = Base64URL.encode(payload)
        let signature = Array(try key.signature(for: Array("\(protected).\(text)".utf8)).rawRepresentation)
        return .object([
            "payload": .string(text),
            "signatures": .array([.object(["protected": .string(protected), "signature": .string(Base64URL.encode(signature))])]),
        ])
    }
}

extension JSONValue {
    init(text: String) throws {
        try self.init(parsing: Array(text.utf8), limit: 1 << 20)
    }

    /// A copy of the object with a member set, or removed if the value is nil.
    func setting(_ name: String, to value: JSONValue?) throws -> JSONValue {
        var members = try object()
        members[name] = value
        return .object(members)
    }
}

/// The code of the error that `body` must throw.
func code(_ body: () throws -> some Any) -> AttestationError.Code? {
    (#expect(throws: AttestationError.self) { _ = try body() })?.code
}
