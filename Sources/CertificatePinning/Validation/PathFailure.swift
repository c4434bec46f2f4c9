internal import COpenSSL
internal import Foundation

/// Why OpenSSL found no valid path.
struct PathFailure {
    private static let trustRootCommands =
        "for a host that is configured, run approov api -pins HOST -trustRoots root.pem; for a new host, give -trustRoots root.pem to approov api"
        + " -add HOST; for a command with the option --cacert, pass --cacert root.pem"
    private let code: Int32
    /// The position of the certificate in the path; 0 is the server's certificate.
    private let depth: Int32
    private let certificate: Certificate?
    private let host: CanonicalHost
    /// Whether the requested host violates the certificate's name constraints although no name of the server's certificate does.
    private let isHostOutside: Bool

    /// Reads the error that X509_verify_cert left in the context.
    init(_ context: OpaquePointer, host: CanonicalHost) {
        code = X509_STORE_CTX_get_error(context)
        depth = X509_STORE_CTX_get_error_depth(context)
        certificate = X509_STORE_CTX_get_current_cert(context).flatMap { try? Certificate(retaining: $0) }
        self.host = host
        isHostOutside = false
    }

    /// Takes OpenSSL's error for a requested host outside an issuer's name constraints.
    init(_ code: Int32, host: CanonicalHost, isOutside issuer: Certificate) {
        self.code = code
        depth = 0
        certificate = issuer
        self.host = host
        isHostOutside = true
    }

    /// Whether another path may avoid the failure; a flaw of the server's certificate itself is present on every path.
    var isOfThePath: Bool {
        guard depth == 0 else { return true }
        return switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH,
            X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK,
            X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD, X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION:
            false
        default: true
        }
    }

    /// Makes the refusal that explains the failure.
    ///
    /// - Parameters:
    ///   - presented: The certificates that the server sent.
    ///   - anchors: The trusted roots.
    ///   - budget: The rest of the budget after the search for other paths; nil if no search was made.
    /// - Returns: The refusal, with the true cause and its remedy.
    func refusal(presented: [Certificate], anchors: TrustAnchors, after budget: PathSearchBudget? = nil) -> TrustRefusal {
        let (reason, detail) = issuerFlaw(among: presented + anchors.certificates) ?? explanation
        let givenUp =
            budget?.isExhausted == true
            ? "; the limit for other paths was reached before all were tried; let the server send only the certificates of one path" : ""
        return TrustRefusal(
            reason, host: host.name, presented: presented, expected: [], detail: detail + givenUp,
            openSSLError: code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code)
    }

    /// Why OpenSSL did not accept an issuer although a certificate with its name is present; nil if something else failed.
    private func issuerFlaw(among known: [Certificate]) -> (TrustRefusal.Reason, String)? {
        guard let certificate,
            [
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
            ].contains(code)
        else { return nil }
        if let part = certificate.malformedPart {
            return (.malformedCertificate, "\(subject) is malformed, so its issuer cannot be found: \(part); issue it again")
        }
        if let flaw = certificate.rootFlaw {
            return (
                .incompletePath,
                "\(subject) names itself as its issuer, but OpenSSL does not accept it as self-signed: \(flaw); issue it again; if it has"
                    + " an authority key identifier, it must be that of its own key"
            )
        }
        for issuer in known {
            guard let flaw = certificate.mismatch(withIssuer: issuer) else { continue }
            return (
                .incompletePath,
                "\"\(issuer.subject)\" is present, but it is not the issuer of \(subject): \(flaw); let the server send the certificate of"
                    + " the key that signed it, or trust that certificate as a root"
            )
        }
        return nil
    }

    private var subject: String {
        let name = certificate?.subject ?? ""
        return depth == 0 ? "the server's certificate" : "the certificate \"\(name)\" at depth \(depth)"
    }

    private var explanation: (TrustRefusal.Reason, String) {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            (.expired, "\(subject) expired at \(certificate?.notAfter.description ?? "?"); renew it, or set the clock right")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            (.notYetValid, "\(subject) is not valid before \(certificate?.notBefore.description ?? "?"); set the clock right, or wait")
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: hostMismatch
        case X509_V_ERR_INVALID_PURPOSE:
            (.wrongPurpose, "\(subject) is not for TLS servers; issue it with the extended key usage serverAuth and a suitable key usage")
        case X509_V_ERR_INVALID_CA, X509_V_ERR_INVALID_NON_CA: notAnIssuer
        case X509_V_ERR_KEYUSAGE_NO_CERTSIGN:
            (.wrongKeyUsage, "\(subject) issued another certificate, but its key usage lacks keyCertSign")
        case X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED:
            (
                .pathLengthExceeded,
                "the path has more certificates below \(subject) than its path length constraint allows; use fewer intermediates"
            )
        case X509_V_ERR_CERT_CHAIN_TOO_LONG:
            (.pathTooLong, "the path to a root has too many intermediates; use fewer")
        case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
            X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX, X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
            (.nameConstraint, outsideConstraints)
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            (
                .selfSigned,
                "the server's certificate is self-signed and not a trusted root; if it is yours, make it a trust root of the host"
            )
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_CERT_REJECTED:
            (
                .untrustedRoot,
                "the path ends in a root that is not trusted, \(subject); if it is yours, make it a trust root of the host: "
                    + Self.trustRootCommands
            )
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            (
                .incompletePath,
                "no issuer of \(subject) was found; let the server send \"\(certificate?.issuer ?? "?")\", or, if it is your own CA, trust"
                    + " it: " + Self.trustRootCommands
            )
        default: rarer
        }
    }

    private var rarer: (TrustRefusal.Reason, String) {
        switch code {
        case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE,
            X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY, X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH:
            (.signatureFailure, "the signature of \(subject) does not verify with its issuer's key; issue it again")
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_EC_KEY_EXPLICIT_PARAMS:
            (.weakKey, "the key of \(subject) is too weak; use RSA of 2048 bits or more, P-256 or Ed25519")
        case X509_V_ERR_CA_MD_TOO_WEAK:
            (.weakSignature, "\(subject) is signed with an algorithm that is too weak; use SHA-256 or better")
        case X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD, X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION,
            X509_V_ERR_INVALID_EXTENSION, X509_V_ERR_INVALID_POLICY_EXTENSION:
            (.malformedCertificate, "\(subject) is malformed or has an unknown critical extension (\(openSSLText)); issue it again")
        default:
            (.other, "OpenSSL refuses \(subject): \(openSSLText)")
        }
    }

    private var outsideConstraints: String {
        isHostOutside
            ? "\(host.name) is outside the name constraints of \"\(certificate?.subject ?? "")\", although a wildcard of the server's"
                + " certificate covers it; get a certificate from a CA that may certify the name"
            : "a name of \(subject) is outside the name constraints of an issuer; get a certificate from a CA that may certify the name"
    }

    private var hostMismatch: (TrustRefusal.Reason, String) {
        guard let names = certificate?.alternativeNames else {
            return (
                .noSubjectAlternativeName,
                "the server's certificate has no host as subject alternative name, and its common name is ignored; issue it with one"
            )
        }
        // OpenSSL matches only letters, digits and hyphens with a wildcard.
        let underscore =
            host.name.contains("_") && names.contains("*")
            ? "; a wildcard never matches a host with an underscore, so the certificate must contain the host's whole name" : ""
        return (.hostMismatch, "the server's certificate is for \(names), not for \(host.name)\(underscore)")
    }

    private var notAnIssuer: (TrustRefusal.Reason, String) {
        // OpenSSL reports the same error for a missing CA bit and for a CA that may not sign certificates.
        certificate?.isAuthority == true
            ? (.wrongKeyUsage, "\(subject) issued another certificate, but its key usage lacks keyCertSign")
            : (.notACA, "\(subject) issued another certificate, but is not that of a certification authority (CA:TRUE is missing)")
    }

    private var openSSLText: String {
        "\(code): " + (X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "unknown")
    }
}
