import ApproovBase
import ApproovTesting
import ApproovTokens
import Attestation
import Crypto
import CryptoExtras
import Foundation
import Testing

extension ManualClock {
    /// The time at which the token tests run, in seconds since 1970.
    static let start: Int64 = 1_700_000_000

    /// A clock that always returns the same time.
    static func at(_ seconds: TimeInterval = TimeInterval(start)) -> ManualClock { ManualClock(date: Date(timeIntervalSince1970: seconds)) }
}

/// Tokens made without the module under test and without libjwt.
enum Forge {
    static func segment(_ text: String) -> String { Base64URL.encode(Array(text.utf8)) }

    static func hs256(header: String = #"{"alg":"HS256","typ":"JWT"}"#, payload: String, key: [UInt8]) -> String {
        hs256(segments: segment(header) + "." + segment(payload), key: key)
    }

    static func hs256(segments: String, key: [UInt8]) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array(segments.utf8), using: SymmetricKey(data: key))
        return segments + "." + Base64URL.encode(Array(code))
    }

    static func es256(
        header: String = #"{"alg":"ES256","typ":"JWT"}"#, payload: String, key: P256.Signing.PrivateKey
    ) throws -> String {
        let segments = segment(header) + "." + segment(payload)
        return segments + "." + Base64URL.encode(Array(try key.signature(for: Array(segments.utf8)).rawRepresentation))
    }

    static func rs256(
        header: String = #"{"alg":"RS256","typ":"JWT"}"#, payload: String, key: _RSA.Signing.PrivateKey
    ) throws -> String {
        let segments = segment(header) + "." + segment(payload)
        let signature = try key.signature(for: Array(segments.utf8), padding: .insecurePKCS1v1_5)
        return segments + "." + Base64URL.encode(Array(signature.rawRepresentation))
    }
}

/// An HS256 verifier with a fixed clock, and its verdicts on payloads and tokens.
struct Bench {
    let secret = AccountSecret.generate()
    let exp = ManualClock.start + 300

    func verifier(
        audience: String? = nil, issuer: String? = nil, maximumLifetime: Int = 86_400, clockSkew: Int = 30,
        at seconds: TimeInterval = TimeInterval(ManualClock.start)
    ) throws -> TokenVerifier {
        try TokenVerifier(
            keys: [.hs256(secret)], audience: audience, issuer: issuer, maximumLifetime: maximumLifetime, clockSkew: clockSkew,
            time: ManualClock.at(seconds))
    }

    /// The code with which a correctly signed payload is rejected; nil if it is accepted.
    func refusal(payload: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#) throws -> TokenError.Code? {
        try refusal(token: Forge.hs256(header: header, payload: payload, key: secret.bytes))
    }

    func refusal(token: String, binding: PayRule = .ignored) throws -> TokenError.Code? {
        ApproovTokensTests.refusal(of: token, by: try verifier(), binding: binding)
    }
}

/// The code with which a token is rejected; nil if it is accepted.
func refusal(of token: String, by verifier: TokenVerifier, binding: PayRule = .ignored) -> TokenError.Code? {
    do {
        _ = try verifier.verify(token, binding: binding)
        return nil
    } catch {
        return error.code
    }
}

/// The code of the error that `body` must throw.
func code(_ body: () throws -> some Any) -> TokenError.Code? {
    (#expect(throws: TokenError.self) { _ = try body() })?.code
}
