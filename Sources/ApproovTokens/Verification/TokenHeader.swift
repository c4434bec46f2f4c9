import ApproovBase
import Attestation

/// A token's header: the algorithm and the key's name, and no reference that would make a verifier fetch or trust a key.
struct TokenHeader {
    /// The most bytes of a decoded header.
    static let maximumBytes = 1_024
    /// The `typ` of a token.
    static let type = "JWT"

    let algorithm: String
    let kid: String?

    /// Reads a header strictly: allows only `alg`, `kid` and `typ`, and so no `crit`, `jwk`, `jku`, `x5u`, `x5c`, `b64` or `zip`.
    init(_ segment: UnsafeBufferPointer<UInt8>) throws(TokenError) {
        guard let bytes = Base64URL.decode(utf8: segment) else { throw TokenError(.malformed, "the token's header is not base64url") }
        do {
            let members = try JSONValue(reading: bytes, limit: TokenHeader.maximumBytes).object()
            guard members.keys.allSatisfy({ $0 == "alg" || $0 == "kid" || $0 == "typ" }) else {
                throw TokenError(.malformed, "the token's header has a member other than alg, kid and typ")
            }
            guard members["typ"] != .string(CustomClaims.type) else {
                throw TokenError(.malformed, "this is a custom JWT, not a token for an API of the account")
            }
            guard members["typ"] == nil || members["typ"] == .string(TokenHeader.type) else {
                throw TokenError(.malformed, "the token's typ is not \(TokenHeader.type)")
            }
            guard let algorithm = members["alg"] else { throw TokenError(.wrongAlgorithm, "the token's header has no alg") }
            guard case .string(let name) = algorithm else { throw TokenError(.malformed, "the token's alg is not a string") }
            self.algorithm = name
            kid = try members["kid"].map { try $0.string() }
        } catch let error as TokenError {
            throw error
        } catch {
            throw TokenError(.malformed, "the token's header is not a strict JSON object", cause: error)
        }
    }

    /// The usual headers for a key in base64url; a token that begins with one of them needs no JSON parsing.
    static func usualSpellings(algorithm: TokenAlgorithm, kid: String?) -> [[UInt8]] {
        let alg = #""alg":"\#(algorithm.rawValue)""#
        let typ = #""typ":"\#(type)""#
        var orders = [[alg, typ], [typ, alg], [alg]]
        if let kid {
            // JSON can write these characters in several ways, so leave such names to the parser.
            guard kid.utf8.allSatisfy({ $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) else { return [] }
            let name = #""kid":"\#(kid)""#
            orders = [[alg, name, typ], [alg, typ, name], [typ, alg, name], [name, alg, typ], [name, typ, alg]]
        }
        return orders.map { Array(Base64URL.encode(Array("{\($0.joined(separator: ","))}".utf8)).utf8) }
    }
}
