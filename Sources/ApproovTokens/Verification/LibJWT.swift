import CLibJWT
import COpenSSL

/// The one place where libjwt judges a signature.
///
/// It is only reached with a checked token, a non-empty key of the right type, and the algorithm that the key stands for.
enum LibJWT {
    /// Whether `key` made the signature of `token`, which is a checked compact JWS without a NUL.
    static func verifies(_ token: [UInt8], key: VerificationKey) -> Bool {
        token.withUnsafeBufferPointer { verifies($0, key: key) }
    }

    /// Whether `key` made the signature of `token`, which is a checked compact JWS without a NUL.
    static func verifies(_ token: UnsafeBufferPointer<UInt8>, key: VerificationKey) -> Bool {
        // With an empty key, or a length that is not positive, jwt_decode reports success without having verified anything.
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
                // A signature that does not verify leaves its errors with the thread, where the next user of OpenSSL would find them.
                if key.algorithm != .hs256 { ERR_clear_error() }
            }
            // An unverified token is one of algorithm none to libjwt, so the algorithm is asked for as well.
            return result == 0 && decoded != nil && jwt_get_alg(decoded) == key.algorithm.libjwt
        }
    }
}
