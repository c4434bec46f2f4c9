internal import COpenSSL
internal import Foundation

/// The rules that OCSP responses and CRLs share.
enum RevocationRules {
    /// The accepted difference between the clocks of issuer and client, in seconds.
    static let clockSkew: TimeInterval = 300
    /// How long an answer without an end is valid, in seconds: newer information may be available at any time (RFC 6960, section 4.2.2.1).
    static let lifetimeWithoutEnd: TimeInterval = 3_600

    /// When an answer expires.
    ///
    /// - Parameters:
    ///   - thisUpdate: The start of the answer's validity; nil when unreadable.
    ///   - nextUpdate: The end of the answer's validity; nil when missing or unreadable.
    ///   - hasEnd: Whether the answer states an end, readable or not.
    ///   - time: The time at which the answer must be valid.
    /// - Returns: The end of the answer's validity.
    /// - Throws: ``RevocationProblem`` when the answer is not valid at the time.
    static func validUntil(thisUpdate: Date?, nextUpdate: Date?, hasEnd: Bool, at time: Date) throws -> Date {
        guard let thisUpdate else { throw RevocationProblem("its thisUpdate cannot be read") }
        guard thisUpdate <= time.addingTimeInterval(clockSkew) else {
            throw RevocationProblem("its thisUpdate (\(thisUpdate)) is in the future; set the clock right")
        }
        guard !hasEnd || nextUpdate != nil else { throw RevocationProblem("its nextUpdate cannot be read") }
        let end = nextUpdate ?? thisUpdate.addingTimeInterval(lifetimeWithoutEnd)
        guard end >= thisUpdate else { throw RevocationProblem("its nextUpdate is before its thisUpdate") }
        guard end.addingTimeInterval(clockSkew) >= time else { throw RevocationProblem("it expired at \(end)") }
        return end
    }

    /// Refuses signatures over unknown digests and over those with practical collisions.
    static func requireStrongDigest(_ signatureAlgorithm: UnsafePointer<X509_ALGOR>?) throws {
        guard let signatureAlgorithm else { throw RevocationProblem("it does not name its signature algorithm") }
        var identifier: OpaquePointer?
        X509_ALGOR_get0(&identifier, nil, nil, signatureAlgorithm)
        let signature = OBJ_obj2nid(identifier)
        // These algorithms include their own digest (RFC 8032), which OpenSSL does not report.
        guard ![NID_ED25519, NID_ED448].contains(signature) else { return }
        var digest = NID_undef
        if signature == NID_rsassaPss {
            // The digest is in the parameters; if they do not name it, it is SHA-1.
            digest = COpenSSL_pss_digest(signatureAlgorithm)
        } else {
            guard OBJ_find_sigid_algs(signature, &digest, nil) == 1 else { throw RevocationProblem("its signature algorithm is unknown") }
        }
        guard [NID_sha256, NID_sha384, NID_sha512, NID_sha3_256, NID_sha3_384, NID_sha3_512].contains(digest) else {
            throw RevocationProblem("its signature uses a digest that is too weak or unknown")
        }
    }

    /// Runs the body with a store that trusts only the issuer.
    ///
    /// The issuer need not be a root here. This weakens nothing, because it is on a path that was already validated.
    static func withStore<Value>(trusting issuer: Certificate, at time: Date, _ body: (OpaquePointer) throws -> Value) throws -> Value {
        guard let store = X509_STORE_new() else { throw RevocationProblem("OpenSSL is out of memory") }
        defer { X509_STORE_free(store) }
        guard X509_STORE_add_cert(store, issuer.x509) == 1, let parameters = X509_STORE_get0_param(store) else {
            throw RevocationProblem("OpenSSL is out of memory")
        }
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        X509_VERIFY_PARAM_set_auth_level(parameters, SecurityLevel.minimum)
        X509_VERIFY_PARAM_set_time(parameters, time_t(exactly: time.timeIntervalSince1970.rounded(.down)) ?? time_t.max)
        return try body(store)
    }
}
