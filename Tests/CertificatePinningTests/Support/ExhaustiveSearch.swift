import COpenSSL
import CertificatePinning
import Foundation

/// A second opinion on a graph: finds every simple path from the server's certificate to a trusted root, and OpenSSL verifies each alone.
///
/// Only the names decide which certificate can follow another. No path is left out because it looks invalid.
struct ExhaustiveSearch {
    let graph: GraphMint.Graph
    let time: Date

    private struct Vertex {
        let x509: OpaquePointer
        let subject: String
        let issuer: String
        let isRoot: Bool
        let excludesHost: Bool
    }

    /// Whether OpenSSL verifies at least one path.
    func findsPath() -> Bool {
        var seen: Set<[UInt8]> = []
        let certificates = [(graph.leaf, nil)] + graph.nodes.map { ($0.certificate, $0.node) }
        let vertices = certificates.compactMap { certificate, node -> Vertex? in
            guard let x509 = Self.parse(certificate), seen.insert(certificate.der).inserted else { return nil }
            return Vertex(
                x509: x509, subject: certificate.subject, issuer: certificate.issuer,
                isRoot: node?.isTrusted == true && certificate.subject == certificate.issuer,
                excludesHost: node?.flaw == .excludesBehindWildcard)
        }
        defer { for vertex in vertices { X509_free(vertex.x509) } }
        return extend([0], vertices)
    }

    private func extend(_ path: [Int], _ vertices: [Vertex]) -> Bool {
        guard let last = path.last, path.count < 14 else { return false }
        for index in vertices.indices where vertices[index].subject == vertices[last].issuer && !path.contains(index) {
            let longer = path + [index]
            if vertices[index].isRoot, verifies(longer.map { vertices[$0] }) { return true }
            if extend(longer, vertices) { return true }
        }
        return false
    }

    private func verifies(_ path: [Vertex]) -> Bool {
        // OpenSSL does not apply name constraints to the requested host, so the plan says which authorities exclude it.
        guard !path.contains(where: \.excludesHost) else { return false }
        // If the root has the same name as another certificate, the order of the search decides which of these paths OpenSSL builds.
        return [true, false].contains { verifies(path, isTrustedFirst: $0) }
    }

    private func verifies(_ path: [Vertex], isTrustedFirst: Bool) -> Bool {
        let store = X509_STORE_new()
        let untrusted = COpenSSL_chain_new()
        let context = X509_STORE_CTX_new()
        defer {
            X509_STORE_CTX_free(context)
            COpenSSL_chain_free(untrusted)
            X509_STORE_free(store)
            ERR_clear_error()
        }
        X509_STORE_add_cert(store, path[path.count - 1].x509)
        for vertex in path.dropFirst().dropLast() { _ = COpenSSL_chain_append(untrusted, vertex.x509) }
        X509_STORE_CTX_init(context, store, path[0].x509, untrusted)
        X509_STORE_CTX_set_default(context, "ssl_server")
        let parameters = X509_STORE_CTX_get0_param(context)
        if isTrustedFirst {
            X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_TRUSTED_FIRST))
        } else {
            X509_VERIFY_PARAM_clear_flags(parameters, UInt(X509_V_FLAG_TRUSTED_FIRST))
        }
        X509_VERIFY_PARAM_set_depth(parameters, 12)
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        X509_VERIFY_PARAM_set_time(parameters, time_t(time.timeIntervalSince1970))
        X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        X509_VERIFY_PARAM_set1_host(parameters, GraphMint.host, 0)
        return X509_verify_cert(context) == 1
    }

    private static func parse(_ certificate: Certificate) -> OpaquePointer? {
        certificate.der.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return d2i_X509(nil, &cursor, buffer.count)
        }
    }
}
