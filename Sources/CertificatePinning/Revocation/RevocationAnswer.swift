internal import COpenSSL
internal import Foundation

/// What a verified OCSP response or CRL says of one certificate.
struct RevocationStatus: Sendable, Equatable {
    enum Value: Sendable, Equatable {
        case good
        /// With the moment of the revocation, where it is known.
        case revoked(Date?)
    }

    let value: Value
    /// Until when the answer holds.
    let validUntil: Date
}

/// Why an answer says nothing.
struct RevocationProblem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A certificate of a validated path and the one above it, whose word counts about its revocation.
struct IssuedCertificate {
    let certificate: Certificate
    let issuer: Certificate
}

/// The rules that OCSP responses and CRLs share.
enum RevocationRules {
    /// How far the clocks of issuer and client may be apart, in seconds.
    static let clockSkew: TimeInterval = 300
    /// How long an answer holds that does not say it, in seconds: newer information may be there at any time (RFC 6960 §4.2.2.1).
    static let lifetimeWithoutEnd: TimeInterval = 3_600

    /// Until when an answer holds.
    ///
    /// - Throws: ``RevocationProblem`` for one that does not hold at the time.
    static func validUntil(thisUpdate: Date?, nextUpdate: Date?, hasEnd: Bool, at time: Date) throws -> Date {
        guard let thisUpdate else { throw RevocationProblem("it does not say readably when it was made") }
        guard thisUpdate <= time.addingTimeInterval(clockSkew) else {
            throw RevocationProblem("it is from the future (\(thisUpdate)): set the clock right")
        }
        guard !hasEnd || nextUpdate != nil else { throw RevocationProblem("it does not say readably until when it holds") }
        let end = nextUpdate ?? thisUpdate.addingTimeInterval(lifetimeWithoutEnd)
        guard end >= thisUpdate else { throw RevocationProblem("it ends before it begins") }
        guard end.addingTimeInterval(clockSkew) >= time else { throw RevocationProblem("it is out of date since \(end)") }
        return end
    }

    /// Refuses signatures over digests in which collisions can be made, and over unknown ones.
    static func requireStrongDigest(_ signatureAlgorithm: UnsafePointer<X509_ALGOR>?) throws {
        guard let signatureAlgorithm else { throw RevocationProblem("it does not name its signature algorithm") }
        var identifier: OpaquePointer?
        X509_ALGOR_get0(&identifier, nil, nil, signatureAlgorithm)
        let signature = OBJ_obj2nid(identifier)
        // They bring a digest of their own (RFC 8032), of which OpenSSL says nothing.
        guard ![NID_ED25519, NID_ED448].contains(signature) else { return }
        var digest = NID_undef
        if signature == NID_rsassaPss {
            // The digest is in the parameters, and SHA-1 where they are silent.
            digest = COpenSSL_pss_digest(signatureAlgorithm)
        } else {
            guard OBJ_find_sigid_algs(signature, &digest, nil) == 1 else { throw RevocationProblem("its signature algorithm is unknown") }
        }
        guard [NID_sha256, NID_sha384, NID_sha512, NID_sha3_256, NID_sha3_384, NID_sha3_512].contains(digest) else {
            throw RevocationProblem("its signature uses a digest that is too weak or unknown")
        }
    }

    /// A store in which nothing but the issuer is trusted, for the time of one check.
    ///
    /// The issuer is on a path that was validated already: that it need not be a root here is no weakening.
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
