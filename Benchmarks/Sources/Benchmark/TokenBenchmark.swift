import ApproovTokens
import Attestation
import Crypto
import Foundation
import JWTKit

/// (b) The check of one HS256 token with a binding, on one core.
struct TokenBenchmark {
    private static let audience = "api.example.com"

    let options: Options

    func run() async throws -> [Figure] {
        let secret = AccountSecret.generate()
        guard let secretBytes = Data(base64Encoded: secret.base64) else { throw BenchmarkError("the account secret is not base64") }
        let key = SymmetricKey(data: secretBytes)
        let authorization = "Bearer 0123456789abcdef"
        let now = Int64(Date().timeIntervalSince1970)
        // Every claim that the authority puts into a token, as it comes in life.
        var claims = TokenClaims(exp: now + 300, iat: now)
        claims.ip = "127.0.0.1"
        claims.did = "AAECAwQFBgcICQoLDA0ODw=="
        claims.arc = "IXPSB7TRK26LXE3M"
        claims.iss = "https://authority.example.com"
        claims.aud = Self.audience
        claims.ipk = P256.Signing.PrivateKey().publicKey.derRepresentation.base64EncodedString()
        claims.anno = ["first-fetch"]
        claims.pay = Binding.payHash(of: authorization)
        let token = try TokenSigner(key: .hs256(secret, kid: nil)).sign(claims)

        let verifier = try TokenVerifier(keys: [.hs256(secret, kid: nil)], audience: Self.audience)
        let forgetful = try TokenVerifier(keys: [.hs256(secret, kid: nil)], audience: Self.audience, cachedTokens: 0)
        let collection = await JWTKeyCollection().add(hmac: HMACKey(key: key), digestAlgorithm: .sha256)
        guard let dot = token.lastIndex(of: ".") else { throw BenchmarkError("the token has no signature") }
        let signingInput = Data(token[..<dot].utf8)

        let subjects = [
            // A client presents one token with all its requests: the first is the second line, all others are the first.
            Subject("ApproovTokens") {
                try await nanosecondsPerCall(during: options.seconds) {
                    blackHole(try verifier.verify(token, binding: .required([authorization])))
                }
            },
            Subject("ApproovTokens, first sight") {
                try await nanosecondsPerCall(during: options.seconds) {
                    blackHole(try forgetful.verify(token, binding: .required([authorization])))
                }
            },
            Subject("jwt-kit", isPeer: true) {
                try await nanosecondsPerCall(during: options.seconds) {
                    let payload = try await collection.verify(token, as: Payload.self)
                    try payload.aud.verifyIntendedAudience(includes: Self.audience)
                    let hash = Data(SHA256.hash(data: Data(authorization.utf8))).base64EncodedString()
                    guard payload.pay == hash else { throw BenchmarkError("another binding") }
                }
            },
            Subject("bare HMAC", isPeer: true) {
                await nanosecondsPerCall(during: options.seconds) {
                    blackHole(HMAC<SHA256>.authenticationCode(for: signingInput, using: key))
                }
            },
        ]
        return try await Comparison(group: "tokens", scenario: "HS256 check", unit: .nanoseconds, peers: ["jwt-kit", "bare HMAC"])
            .run(subjects, options: options)
    }

    private struct Payload: JWTPayload {
        let exp: ExpirationClaim
        let iat: IssuedAtClaim
        let ip: String
        let iss: IssuerClaim
        let aud: AudienceClaim
        let ipk: String
        let anno: [String]
        let did: String
        let arc: String
        let pay: String

        func verify(using _: some JWTAlgorithm) throws {
            try exp.verifyNotExpired()
        }
    }
}
