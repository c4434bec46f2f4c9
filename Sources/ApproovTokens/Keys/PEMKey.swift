import ApproovBase
import Attestation
import COpenSSL

/// An OpenSSL private or public key, read from PEM without ever asking for a passphrase, and checked against the rules for token keys.
struct PEMKey: ~Copyable {
    static let minimumRSABits = 2_048
    /// The most bits of an RSA key; verifying with a longer one is slow enough to be an attack.
    static let maximumRSABits = 8_192
    private static let maximumBytes = 16 * 1024

    private let key: OpaquePointer

    private init(taking key: OpaquePointer) {
        self.key = key
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// Reads an unencrypted private key, in PKCS #8 or an older format.
    static func privateKey(pem: String, for algorithm: TokenAlgorithm) throws(TokenError) -> PEMKey {
        guard !pem.contains("ENCRYPTED") else {
            throw TokenError(.malformedKey, "the private key is encrypted; decrypt it with `openssl pkey -in KEY`")
        }
        return try read(pem, for: algorithm, what: "private key") { bio in
            // Without this callback, OpenSSL would ask for a passphrase on the terminal.
            PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
        }
    }

    /// Reads a SubjectPublicKeyInfo (RFC 7468, section 13).
    static func publicKey(pem: String, for algorithm: TokenAlgorithm) throws(TokenError) -> PEMKey {
        guard !PEMText.hasPrivateKey(pem) else {
            throw TokenError(
                .malformedKey,
                "a verifier needs a public key, and this is a private key; extract the public key with `openssl pkey -in KEY -pubout`")
        }
        return try read(pem, for: algorithm, what: "public key") { bio in
            PEM_read_bio_PUBKEY(bio, nil, { _, _, _, _ in -1 }, nil)
        }
    }

    /// Makes a new key: RSA with 2,048 bits, or P-256.
    static func generate(_ algorithm: TokenAlgorithm) throws(TokenError) -> PEMKey {
        let isRSA = algorithm == .rs256
        let context = EVP_PKEY_CTX_new_id(isRSA ? EVP_PKEY_RSA : EVP_PKEY_EC, nil)
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        var key: OpaquePointer?
        guard algorithm != .hs256, let context, EVP_PKEY_keygen_init(context) == 1,
            isRSA
                ? EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(minimumRSABits)) == 1
                : EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            EVP_PKEY_keygen(context, &key) == 1, let key
        else { throw TokenError(.malformedKey, "a key pair for \(algorithm.rawValue) cannot be made") }
        return PEMKey(taking: key)
    }

    private static func read(
        _ pem: String, for algorithm: TokenAlgorithm, what: String, _ parse: (OpaquePointer) -> OpaquePointer?
    ) throws(TokenError) -> PEMKey {
        defer { ERR_clear_error() }
        let bytes = Array(pem.utf8)
        guard (1...maximumBytes).contains(bytes.count) else {
            throw TokenError(.malformedKey, "the \(what) is empty or longer than \(maximumBytes) bytes")
        }
        // The BIO reads these bytes in place, so they must outlive it.
        let parsed = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
            guard let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { BIO_free(bio) }
            return parse(bio)
        }
        guard let parsed else {
            throw TokenError(.malformedKey, "the \(what) is not an unencrypted PEM key; check the file")
        }
        let key = PEMKey(taking: parsed)
        try key.check(for: algorithm)
        return key
    }

    private func check(for algorithm: TokenAlgorithm) throws(TokenError) {
        let type = EVP_PKEY_get_base_id(key)
        switch algorithm {
        case .hs256: throw TokenError(.malformedKey, "HS256 needs an account secret, not a PEM key")
        case .rs256:
            guard type == EVP_PKEY_RSA else { throw TokenError(.malformedKey, "RS256 needs an RSA key") }
            guard bits >= PEMKey.minimumRSABits else {
                throw TokenError(.weakKey, "the RSA key has \(bits) bits; use one with at least \(PEMKey.minimumRSABits)")
            }
            guard bits <= PEMKey.maximumRSABits else {
                throw TokenError(.malformedKey, "the RSA key has \(bits) bits; use one with at most \(PEMKey.maximumRSABits)")
            }
            // With exponent 1 a signature is the padded hash itself and needs no private key. An even exponent has no private counterpart.
            guard try withNumber("e", { BN_is_odd($0) == 1 && BN_num_bits($0) > 1 }) else {
                throw TokenError(
                    .weakKey,
                    "the RSA key's public exponent is even or below 3, so it protects no signature; make a new key: openssl genrsa 2048"
                )
            }
        case .es256:
            // Check the curve here: libjwt would sign and verify ES256 with any curve.
            var name = [CChar](repeating: 0, count: 64)
            var length = 0
            guard type == EVP_PKEY_EC, EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1,
                name.prefix(length).elementsEqual("prime256v1".utf8.map(CChar.init))
            else { throw TokenError(.malformedKey, "ES256 needs a key on the curve P-256") }
        }
    }

    private var bits: Int { Int(EVP_PKEY_get_bits(key)) }

    /// The size of a token's signature in bytes.
    func signatureBytes(for algorithm: TokenAlgorithm) -> Int {
        algorithm == .rs256 ? (bits + 7) / 8 : 64
    }

    /// Signs with SHA-256 (RFC 7518, sections 3.3 and 3.4).
    func signature(over bytes: [UInt8], algorithm: TokenAlgorithm) throws(TokenError) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1
        else { throw TokenError(.signingFailed, "OpenSSL cannot sign with this key") }
        signature.removeSubrange(count...)
        return algorithm == .es256 ? try PEMKey.plainSignature(der: signature) : signature
    }

    /// Converts OpenSSL's form of an ECDSA signature to r and s, 32 bytes each.
    private static func plainSignature(der: [UInt8]) throws(TokenError) -> [UInt8] {
        var plain = [UInt8](repeating: 0, count: 64)
        let isConverted = der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            guard let parsed = d2i_ECDSA_SIG(nil, &position, buffer.count) else { return false }
            defer { ECDSA_SIG_free(parsed) }
            return plain.withUnsafeMutableBufferPointer { output in
                BN_bn2binpad(ECDSA_SIG_get0_r(parsed), output.baseAddress, 32) == 32
                    && BN_bn2binpad(ECDSA_SIG_get0_s(parsed), output.baseAddress.map { $0 + 32 }, 32) == 32
            }
        }
        guard isConverted else { throw TokenError(.signingFailed, "OpenSSL made a signature of another curve") }
        return plain
    }

    /// The private key as unencrypted PKCS #8 PEM.
    func privatePEM() throws(TokenError) -> String {
        try written { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
    }

    /// The public key as SubjectPublicKeyInfo PEM.
    func publicPEM() throws(TokenError) -> String {
        try written { PEM_write_bio_PUBKEY($0, key) }
    }

    private func written(_ write: (OpaquePointer) -> Int32) throws(TokenError) -> String {
        defer { ERR_clear_error() }
        guard let bio = BIO_new(BIO_s_mem()) else { throw TokenError(.malformedKey, "out of memory") }
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { throw TokenError(.malformedKey, "the key cannot be written") }
        var buffer = [UInt8](repeating: 0, count: PEMKey.maximumBytes)
        let count = BIO_read(bio, &buffer, Int32(buffer.count))
        guard count > 0, count < buffer.count else { throw TokenError(.malformedKey, "the key cannot be written") }
        return String(decoding: buffer[..<Int(count)], as: UTF8.self)
    }

    /// The members of the JWK that depend on the public key (RFC 7518, section 6).
    func jwkMembers(for algorithm: TokenAlgorithm) throws(TokenError) -> [String: JSONValue] {
        if algorithm == .rs256 {
            return ["kty": "RSA", "n": .string(try number("n")), "e": .string(try number("e"))]
        }
        // Not the encoded point, which may be compressed.
        return ["kty": "EC", "crv": "P-256", "x": .string(try coordinate("qx")), "y": .string(try coordinate("qy"))]
    }

    /// A coordinate of the point, always of 32 bytes (RFC 7518, section 6.2.1.2).
    private func coordinate(_ name: String) throws(TokenError) -> String {
        try withNumber(name) { number in
            var bytes = [UInt8](repeating: 0, count: 32)
            BN_bn2binpad(number, &bytes, 32)
            return Base64URL.encode(bytes)
        }
    }

    private func number(_ name: String) throws(TokenError) -> String {
        try withNumber(name) { number in
            var bytes = [UInt8](repeating: 0, count: (Int(BN_num_bits(number)) + 7) / 8)
            BN_bn2bin(number, &bytes)
            return Base64URL.encode(bytes)
        }
    }

    /// Calls `body` with one of the key's numbers, looked up by its OpenSSL name.
    private func withNumber<Value>(_ name: String, _ body: (OpaquePointer) -> Value) throws(TokenError) -> Value {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else {
            throw TokenError(.malformedKey, "the key's numbers cannot be read")
        }
        defer { BN_free(number) }
        return body(number)
    }
}
