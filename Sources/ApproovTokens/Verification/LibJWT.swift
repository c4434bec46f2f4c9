import CLibJWT
import COpenSSL

/// The only place where libjwt verifies a signature; ``TokenSignature`` decides for which algorithms.
///
/// The caller has already checked the token's shape. The key is of the right type and not empty, and the algorithm is the key's.
enum LibJWT {
    /// Whether `key` signed `token`, which must be a checked compact JWS without NUL.
    static func verifies(_ token: [UInt8], key: VerificationKey) -> Bool {
        token.withUnsafeBufferPointer { verifies($0, key: key) }
    }

    /// Whether `key` signed `token`, which must be a checked compact JWS without NUL.
    static func verifies(_ token: UnsafeBufferPointer<UInt8>, key: VerificationKey) -> Bool {
        // With an empty key, or a length of zero or less, jwt_decode reports success without verifying anything.
        guard !token.isEmpty, token.count <= TokenVerifier.maximumTokenBytes, !key.material.isEmpty,
            let length = Int32(exactly: key.material.count)
        else { return false }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: token.count + 1) { text in
            for index in 0..<token.count { text[index] = CChar(bitPattern: token[index]) }
            text[token.count] = 0
            var decoded: OpaquePointer?
            let result = key.material.withUnsafeBufferPointer { jwt_decode(&decoded, text.baseAddress, $0.baseAddress, length) }
            defer {
                jwt_free(decoded)
                // A failed verification leaves errors in the thread's queue, where the next user of OpenSSL would find them.
                if key.algorithm != .hs256 { ERR_clear_error() }
            }
            // libjwt reports an unverified token as one with algorithm none, so check the algorithm as well.
            return result == 0 && decoded != nil && jwt_get_alg(decoded) == key.algorithm.libjwt
        }
    }
}
