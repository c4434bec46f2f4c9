public import ApproovBase
internal import Attestation
import Foundation

/// Verifies tokens.
///
/// It checks size and alphabet, header, key, signature, claims and binding, in this order, and uses no part before it is checked. A
/// verifier does no I/O and can be used by any number of threads at once.
public struct TokenVerifier: Sendable {
    /// The longest token that is accepted, in bytes.
    ///
    /// libjwt copies tokens to the stack, so the length is checked first.
    public static let maximumTokenBytes = 8_192
    /// The most keys of a verifier.
    public static let maximumKeys = 64

    private struct Entry: Sendable {
        /// Gives the name and the algorithm.
        let key: VerificationKey
        /// All keys with that name: one, or several secrets of an account that is changing its secret.
        let keys: [VerificationKey]
        let usualHeaders: [[UInt8]]
    }

    /// Whether one of the keys is the demo account's published secret.
    ///
    /// A server that is reachable from other machines must not accept it.
    package let usesDemoKeys: Bool
    /// The required `aud`; nil if it is not checked.
    package let audience: String?
    private let entries: [Entry]
    private let issuer: String?
    private let maximumLifetime: Int64
    private let clockSkew: Int64
    private let time: any TimeSource
    private let cache: SignedTokenCache?

    /// Makes a verifier for a set of keys.
    ///
    /// - Parameters:
    ///   - keys: The keys. A token's `kid` selects the key; a token without `kid` selects the key without a name. Several account secrets
    ///     may share a name or have none: while an account changes its secret, `[.hs256(new), .hs256(old)]` accepts tokens of both.
    ///   - audience: The required `aud`; nil means that it is not checked.
    ///   - issuer: The required `iss`; nil means that it is not checked.
    ///   - maximumLifetime: The longest lifetime in seconds, counted from `iat`, or from now if the token has none; at least 1.
    ///   - clockSkew: How far `iat` and `nbf` may be in the future, in seconds, 0 to 3,600. `exp` has no tolerance.
    ///   - cachedTokens: The number of verified tokens to remember, about 2 kB each, so that the signature of a token that comes with many
    ///     requests is verified once. Times and binding are checked every time. 0 turns the cache off.
    ///   - time: The clock.
    /// - Throws: ``TokenError`` with code `unknownKey` when there is no key or more than ``maximumKeys``; with code `duplicateKey` when two
    ///   keys share a name and are not different account secrets.
    public init(
        keys: [VerificationKey], audience: String? = nil, issuer: String? = nil, maximumLifetime: Int = 86_400, clockSkew: Int = 30,
        cachedTokens: Int = 4_096, time: any TimeSource = SystemTimeSource()
    ) throws(TokenError) {
        guard (1...Self.maximumKeys).contains(keys.count) else {
            throw TokenError(
                .unknownKey, "a verifier needs 1 to \(Self.maximumKeys) keys, not \(keys.count); leave out keys that sign no more tokens")
        }
        var entries: [Entry] = []
        for key in keys where !entries.contains(where: { $0.key.kid == key.kid }) {
            let named = keys.filter { $0.kid == key.kid }
            guard named.count == 1 || named.allSatisfy({ $0.algorithm == .hs256 }), Set(named.map(\.material)).count == named.count else {
                throw TokenError(
                    .duplicateKey, "two keys have the same kid; give each key its own kid (account secrets may share one if they differ)")
            }
            entries.append(
                Entry(key: key, keys: named, usualHeaders: TokenHeader.usualSpellings(algorithm: key.algorithm, kid: key.kid)))
        }
        self.entries = entries
        usesDemoKeys = keys.contains { $0.algorithm == .hs256 && DemoKeys.isDemo(accountSecret: $0.material) }
        self.audience = audience
        self.issuer = issuer
        self.maximumLifetime = Int64(max(1, maximumLifetime))
        self.clockSkew = Int64(min(max(0, clockSkew), 3_600))
        self.time = time
        cache = cachedTokens > 0 ? SignedTokenCache(capacity: cachedTokens) : nil
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - token: The token as received, without a prefix.
    ///   - binding: The requirement for the token's binding.
    /// - Returns: The token's claims and the key that signed it.
    /// - Throws: ``TokenError``. Answer with a plain 401 and do not reveal the code to the client.
    public func verify(_ token: String, binding: PayRule = .ignored) throws(TokenError) -> VerifiedToken {
        let signed = try signedToken(token)
        try checkTimes(signed.payload)
        let claims = signed.payload.claims
        if let audience, claims.aud != audience {
            throw TokenError(.wrongAudience, "the token's aud is not the verifier's audience; set audience to the host that the app calls")
        }
        if let issuer, claims.iss != issuer {
            throw TokenError(.wrongIssuer, "the token's iss is not the verifier's issuer; check issuer")
        }
        let isBound = try checkBinding(claims.pay, binding)
        return VerifiedToken(claims: claims, kid: signed.kid, algorithm: signed.algorithm, isBound: isBound, clockSkew: clockSkew)
    }

    /// Verifies the signature and returns the token's content; checks nothing that depends on the request or the time.
    private func signedToken(_ token: String) throws(TokenError) -> SignedToken {
        // Check the length before copying, so that a long token costs nothing.
        guard token.utf8.count <= Self.maximumTokenBytes else { throw Self.malformed }
        var token = token
        // Equal strings can have different bytes in Unicode. TokenSegments accepts only ASCII, where they cannot.
        guard let segments = token.withUTF8({ TokenSegments($0) }) else { throw Self.malformed }
        if let known = cache?.token(token) { return known }
        let signed = try token.withUTF8 { bytes in
            Result { () throws(TokenError) in try verifySignature(of: bytes, segments) }
        }.get()
        cache?.insert(signed, of: token)
        return signed
    }

    private func verifySignature(of token: UnsafeBufferPointer<UInt8>, _ segments: TokenSegments) throws(TokenError) -> SignedToken {
        let entry = try entry(forHeader: UnsafeBufferPointer(rebasing: token[segments.header]))
        let key = entry.key
        // libjwt accepts several spellings of one signature; accept only the canonical one of the exact length.
        guard let signature = Base64URL.decode(utf8: UnsafeBufferPointer(rebasing: token[segments.signature])),
            signature.count == key.signatureBytes
        else { throw TokenError(.badSignature, "the signature is not canonical base64url of \(key.signatureBytes) bytes") }
        // libjwt parses the payload before it verifies a signature, so refuse dangerous input first.
        guard let payload = Base64URL.decode(utf8: UnsafeBufferPointer(rebasing: token[segments.payload])) else { throw Self.malformed }
        try TokenPayload.precheck(payload)
        guard entry.keys.contains(where: { TokenSignature.verifies(signature, of: token, segments, key: $0) }) else {
            // If the payload is not JSON, libjwt fails, too. Then the error should name the payload, not the signature.
            try TokenPayload.requireJSON(payload)
            throw TokenError(.badSignature, "the signature does not verify")
        }
        return SignedToken(payload: try TokenPayload(payload), kid: key.kid, algorithm: key.algorithm)
    }

    /// Returns the keys with the name in the header, if the header's algorithm is theirs.
    private func entry(forHeader segment: UnsafeBufferPointer<UInt8>) throws(TokenError) -> Entry {
        for entry in entries {
            for usual in entry.usualHeaders where usual.count == segment.count && usual.elementsEqual(segment) { return entry }
        }
        let header = try TokenHeader(segment)
        guard let entry = entries.first(where: { $0.key.kid == header.kid }) else {
            throw TokenError(.unknownKey, "the verifier has no key with the token's kid")
        }
        guard header.algorithm == entry.key.algorithm.rawValue else {
            throw TokenError(.wrongAlgorithm, "the token's alg is not \(entry.key.algorithm.rawValue), the algorithm of its key")
        }
        return entry
    }

    private func checkTimes(_ payload: TokenPayload) throws(TokenError) {
        let seconds = time.date.timeIntervalSince1970
        // Outside these bounds the clock is wrong, and no token can be checked against it.
        guard seconds >= 0, seconds < 9_007_199_254_740_992 else { throw TokenError(.expired, "this machine's clock is not set; set it") }
        let now = Int64(seconds)
        let exp = payload.claims.exp
        guard now < exp else { throw TokenError(.expired, "the token has expired") }
        for start in [payload.claims.iat, payload.nbf] {
            guard start ?? 0 <= now + clockSkew else {
                throw TokenError(.notYetValid, "the token's iat or nbf is in the future; check both clocks")
            }
        }
        // Every number here is between 0 and 2^53.
        guard exp - (payload.claims.iat ?? now) <= maximumLifetime else {
            throw TokenError(.lifetimeTooLong, "the token is valid for more than \(maximumLifetime) seconds")
        }
    }

    private func checkBinding(_ pay: String?, _ rule: PayRule) throws(TokenError) -> Bool {
        let values: [String]
        switch rule {
        case .ignored: return false
        case .optional(let lines): values = lines
        case .required(let lines): values = lines
        }
        guard values.count <= 1 else {
            throw TokenError(.bindingAmbiguous, "the binding header occurs \(values.count) times; send it once")
        }
        guard let pay else {
            if case .optional = rule { return false }
            throw TokenError(.bindingMissing, "the token is not bound; it has no pay claim")
        }
        guard let value = values.first else { throw TokenError(.bindingMissing, "the request lacks the binding header") }
        guard let expected = Base64.decode(pay), expected.count == 32, ConstantTime.areEqual(expected, Binding.digest(of: value)) else {
            throw TokenError(.bindingMismatch, "the token is bound to another value of the binding header")
        }
        return true
    }

    private static var malformed: TokenError {
        TokenError(.malformed, "this is not a token; a token is three segments of base64url, at most \(maximumTokenBytes) bytes")
    }
}
