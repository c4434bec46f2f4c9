import ApproovTesting
import COpenSSL
import CertificatePinning
import Foundation
import Testing

/// Mints graphs with OpenSSL directly and uses the same keys for all, so that hundreds of graphs take seconds.
final class GraphMint {
    /// The host that the server's wildcard certificate covers in every graph.
    static let host = "api.graph.test"

    private let keys: [TestKey]
    private let parsed: [OpaquePointer]
    private var serial = 0

    init() throws {
        keys = try (0..<13).map { _ in try TestKey() }
        parsed = try keys.map { key in
            try KeyForms.withKey(key) {
                EVP_PKEY_up_ref($0)
                return $0
            }
        }
    }

    deinit { parsed.forEach(EVP_PKEY_free) }

    /// The certificates of a plan, each with its node.
    struct Graph {
        let leaf: Certificate
        let nodes: [(node: GraphPlan.Node, certificate: Certificate)]

        var trusted: [Certificate] { nodes.filter(\.node.isTrusted).map(\.certificate) }
        var sent: [Certificate] { nodes.filter(\.node.isSent).map(\.certificate) }
    }

    func mint(_ plan: GraphPlan) throws -> Graph {
        let nodes = try plan.nodes.map { ($0, try authority($0, plan)) }
        let leaf = try make(subject: "server", issuer: plan.leafIssuer, key: 12, signer: plan.leafIssuer.key, plan) { x509 in
            try AlteredCertificate.setExtension(x509, NID_subject_alt_name, "DNS:*.graph.test")
            try AlteredCertificate.setExtension(x509, NID_ext_key_usage, "serverAuth")
            try AlteredCertificate.setExtension(x509, NID_key_usage, "critical,digitalSignature")
        }
        return Graph(leaf: leaf, nodes: nodes)
    }

    private func authority(_ node: GraphPlan.Node, _ plan: GraphPlan) throws -> Certificate {
        let issuer = node.issuer ?? (node.name, node.key)
        let signer = node.flaw == .badSignature && node.issuer != nil ? (issuer.key + 1) % keys.count : issuer.key
        let digest = node.flaw == .weakSignature ? EVP_sha1() : EVP_sha256()
        return try make(subject: "\(node.name)", issuer: issuer, key: node.key, signer: signer, digest: digest, flaw: node.flaw, plan) {
            x509 in
            if node.flaw != .noBasicConstraints {
                let length = node.flaw == .pathLength ? ",pathlen:0" : ""
                let constraints = node.flaw == .notCA ? "CA:FALSE" : "CA:TRUE\(length)"
                try AlteredCertificate.setExtension(x509, NID_basic_constraints, "critical,\(constraints)")
            }
            let usage = node.flaw == .wrongKeyUsage ? "cRLSign" : "keyCertSign,cRLSign"
            try AlteredCertificate.setExtension(x509, NID_key_usage, "critical,\(usage)")
            try AlteredCertificate.setExtension(x509, NID_subject_alt_name, "DNS:ca\(node.name).graph.test")
            if node.flaw == .clientsOnly { try AlteredCertificate.setExtension(x509, NID_ext_key_usage, "clientAuth") }
            if let constraint = node.flaw.flatMap(Self.constraint) {
                try AlteredCertificate.setExtension(x509, NID_name_constraints, "critical,\(constraint)")
            }
        }
    }

    private static func constraint(_ flaw: GraphPlan.Flaw) -> String? {
        switch flaw {
        case .excludesHost: "excluded;DNS:graph.test"
        case .permitsOthers: "permitted;DNS:other.test"
        case .excludesBehindWildcard: "excluded;DNS:\(host)"
        case .excludesAuthority: "excluded;DNS:ca1.graph.test"
        default: nil
        }
    }

    private func make(
        subject: String, issuer: (name: Int, key: Int), key: Int, signer: Int, digest: OpaquePointer? = EVP_sha256(),
        flaw: GraphPlan.Flaw? = nil, _ plan: GraphPlan, _ extend: (OpaquePointer) throws -> Void
    ) throws -> Certificate {
        let x509 = try #require(X509_new())
        defer { X509_free(x509) }
        X509_set_version(x509, 2)
        serial += 1
        ASN1_INTEGER_set(X509_get_serialNumber(x509), serial)
        for (name, text) in [(X509_get_subject_name(x509), subject), (X509_get_issuer_name(x509), "\(issuer.name)")] {
            try #require(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, "CA \(text)", -1, -1, 0) == 1)
        }
        let day = 86_400
        X509_gmtime_adj(X509_getm_notBefore(x509), flaw == .notYetValid ? day : -2 * day)
        X509_gmtime_adj(X509_getm_notAfter(x509), flaw == .expired ? -day : 2 * day)
        try #require(X509_set_pubkey(x509, parsed[key]) == 1)
        if plan.hasKeyIdentifiers {
            let identifier = { (key: Int) in "01:02:0\(String(key, radix: 16))" }
            try AlteredCertificate.setExtension(x509, NID_subject_key_identifier, identifier(key))
            try AlteredCertificate.setExtension(x509, NID_authority_key_identifier, "DER:30:05:80:03:\(identifier(issuer.key))")
        }
        if flaw == .unknownCriticalExtension { try addUnknownExtension(x509) }
        try extend(x509)
        try #require(X509_sign(x509, parsed[signer], digest) > 0)
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(x509, &bytes)
        defer { COpenSSL_free(bytes) }
        return try Certificate(der: [UInt8](UnsafeBufferPointer(start: bytes, count: Int(count))))
    }

    /// Adds an OID that RFC 7299 reserves for examples, with an ASN.1 NULL as its value.
    private func addUnknownExtension(_ x509: OpaquePointer) throws {
        let identifier = try #require(OBJ_txt2obj("1.3.6.1.4.1.32473.1", 1))
        defer { ASN1_OBJECT_free(identifier) }
        let octets = try #require(ASN1_OCTET_STRING_new())
        defer { ASN1_OCTET_STRING_free(octets) }
        try #require(ASN1_OCTET_STRING_set(octets, [0x05, 0x00], 2) == 1)
        let made = try #require(X509_EXTENSION_create_by_OBJ(nil, identifier, 1, octets))
        defer { X509_EXTENSION_free(made) }
        try #require(X509_add_ext(x509, made, -1) == 1)
    }
}
