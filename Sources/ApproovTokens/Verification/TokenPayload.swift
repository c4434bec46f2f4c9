import ApproovBase
import Attestation
import CJansson

/// The claims of a payload, read with jansson from the signed bytes; refuses repeated members and known claims of the wrong type.
///
/// libjwt's own accessors are not used: of repeated members they keep the last, and they read a string as the number 0.
struct TokenPayload: Sendable {
    let claims: TokenClaims
    let nbf: Int64?

    /// Makes a payload from claims that were read elsewhere.
    init(claims: TokenClaims, nbf: Int64?) {
        self.claims = claims
        self.nbf = nbf
    }

    /// Refuses input that must not reach a parser: NUL, and nesting beyond `JSONValue.maximumDepth`.
    static func precheck(_ bytes: [UInt8]) throws(TokenError) {
        do {
            try JSONValue.precheck(bytes)
        } catch {
            throw TokenError(.malformed, "the token's payload is not strict JSON", cause: error)
        }
    }

    /// Refuses bytes that are not JSON and have passed `precheck(_:)`; libjwt reports those like a wrong signature.
    static func requireJSON(_ bytes: [UInt8]) throws(TokenError) {
        json_decref(try parsed(bytes))
    }

    /// Parses one JSON array or object; the caller must release it with `json_decref`.
    private static func parsed(_ bytes: [UInt8]) throws(TokenError) -> UnsafeMutablePointer<json_t> {
        let root = bytes.withUnsafeBytes { raw in
            json_loadb(raw.baseAddress?.assumingMemoryBound(to: CChar.self), raw.count, Int(JSON_REJECT_DUPLICATES), nil)
        }
        guard let root else { throw TokenError(.malformed, "the token's payload is not strict JSON") }
        return root
    }

    /// Reads the claims of a payload that has passed `precheck(_:)`.
    init(_ bytes: [UInt8]) throws(TokenError) {
        let root = try TokenPayload.parsed(bytes)
        defer { json_decref(root) }
        guard root.pointee.type == JSON_OBJECT else { throw TokenError(.malformed, "the token's payload is not a JSON object") }
        guard let exp = try TokenPayload.integer(root, "exp") else { throw TokenError(.malformed, "the claim exp is missing") }
        claims = TokenClaims(
            exp: exp, iat: try TokenPayload.integer(root, "iat"), ip: try TokenPayload.string(root, "ip"),
            did: try TokenPayload.string(root, "did"), arc: try TokenPayload.string(root, "arc"),
            pay: try TokenPayload.string(root, "pay"), iss: try TokenPayload.string(root, "iss"),
            aud: try TokenPayload.string(root, "aud"), ipk: try TokenPayload.string(root, "ipk"),
            anno: try TokenPayload.strings(root, "anno"), sub: try TokenPayload.string(root, "sub"),
            mskid: try TokenPayload.string(root, "mskid"), jti: try TokenPayload.string(root, "jti"))
        nbf = try TokenPayload.integer(root, "nbf")
    }

    private static func integer(_ object: UnsafeMutablePointer<json_t>, _ name: StaticString) throws(TokenError) -> Int64? {
        guard let member = json_object_get(object, name.cString) else { return nil }
        guard member.pointee.type == JSON_INTEGER, case let value = Int64(json_integer_value(member)), positiveSafeIntegers.contains(value)
        else {
            throw TokenError(.malformed, "the claim \(name) is not an integer greater than 0 and less than 2^53")
        }
        return value
    }

    private static func string(_ object: UnsafeMutablePointer<json_t>, _ name: StaticString) throws(TokenError) -> String? {
        guard let member = json_object_get(object, name.cString) else { return nil }
        return try text(member, name)
    }

    private static func strings(_ object: UnsafeMutablePointer<json_t>, _ name: StaticString) throws(TokenError) -> [String]? {
        guard let member = json_object_get(object, name.cString) else { return nil }
        let count = json_array_size(member)
        guard member.pointee.type == JSON_ARRAY, count <= TokenClaims.maximumAnnotations else {
            throw TokenError(.malformed, "the claim \(name) is not an array of at most \(TokenClaims.maximumAnnotations) strings")
        }
        var texts: [String] = []
        for index in 0..<count {
            guard let element = json_array_get(member, index) else { continue }
            texts.append(try text(element, name))
        }
        return texts
    }

    private static func text(_ value: UnsafeMutablePointer<json_t>, _ name: StaticString) throws(TokenError) -> String {
        guard value.pointee.type == JSON_STRING, let bytes = json_string_value(value) else {
            throw TokenError(.malformed, "the claim \(name) is not a string")
        }
        return String(decoding: UnsafeRawBufferPointer(start: bytes, count: json_string_length(value)), as: UTF8.self)
    }
}

extension StaticString {
    /// The text as a C string.
    ///
    /// Every literal ends with a NUL.
    fileprivate var cString: UnsafePointer<CChar> {
        UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
