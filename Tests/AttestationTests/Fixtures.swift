import ApproovBase
import Attestation
import Crypto
import Foundation
import Testing

/// An account with its keys, and configurations signed for it.
struct Account {
    static let pinA = "sha256/" + Base64.encode([UInt8](repeating: 1, count: 32))
    static let pinB = "sha256/" + Base64.encode([UInt8](repeating: 2, count: 32))
    static let issuedAt: Int64 = 1_700_000_000
    static let lifetime: Int64 = 30 * 86_400
    static let now = Date(timeIntervalSince1970: TimeInterval(issuedAt + 60))

    let name = "test-account"
    let key = P256.Signing.PrivateKey()

    var jwk: PublicJWK { PublicJWK(key.publicKey) }

    func configuration(version: Int64, change: (inout DynamicConfiguration) -> Void = { _ in }) -> DynamicConfiguration {
        var configuration = DynamicConfiguration(
            account: name, version: version, issuedAt: Account.issuedAt, expiresAt: Account.issuedAt + Account.lifetime,
            hosts: ["api.example.com": HostSettings(pins: [Account.pinA, Account.pinB])])
        change(&configuration)
        return configuration
    }

    func signed(
        version: Int64, by keys: [P256.Signing.PrivateKey]? = nil, change: (inout DynamicConfiguration) -> Void = { _ in }
    ) throws -> SignedConfiguration {
        try SignedConfiguration(signing: configuration(version: version, change: change), by: keys ?? [key])
    }

    func initial(version: Int64 = 1, epoch: Int64 = 1, keys: [P256.Signing.PrivateKey]? = nil) throws -> InitialConfiguration {
        let keys = keys ?? [key]
        return try InitialConfiguration(
            account: name, epoch: epoch, authority: try #require(URL(string: "https://authority.example.com")),
            authorityPins: [Account.pinA, Account.pinB], configKeys: keys.map { PublicJWK($0.publicKey) },
            configuration: try signed(version: version, by: [keys[0]]) { $0.epoch = epoch })
    }

    func state(version: Int64 = 1) throws -> ConfigurationState {
        try ConfigurationState(initial: initial(version: version))
    }

    /// Signs any payload, also one that breaks every rule, as the authority's format has it.
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

    /// The same object with a member set, or taken out where the value is nil.
    func setting(_ name: String, to value: JSONValue?) throws -> JSONValue {
        var members = try object()
        members[name] = value
        return .object(members)
    }
}

/// The code of the error that `body` throws; a test fails when it throws none.
func code(_ body: () throws -> some Any) -> AttestationError.Code? {
    (#expect(throws: AttestationError.self) { _ = try body() })?.code
}
