internal import COpenSSL

/// What a server sent: proof of nothing.
///
/// Borrowed from OpenSSL for the time of one check.
struct PresentedPath {
    let leaf: OpaquePointer?
    /// A STACK_OF(X509), in which the leaf is repeated; nil when nothing was sent.
    let certificates: OpaquePointer?

    /// The certificates, the server's own first and once.
    func all() -> [Certificate] {
        let others = PresentedPath.array(certificates) { $0 != leaf }
        guard let leaf, let first = try? Certificate(retaining: leaf) else { return others }
        return [first] + others
    }

    /// The certificates of a STACK_OF(X509), each with a reference of its own.
    static func array(_ stack: OpaquePointer?, where isIncluded: (OpaquePointer) -> Bool = { _ in true }) -> [Certificate] {
        (0..<max(0, COpenSSL_chain_count(stack))).compactMap { index in
            guard let x509 = COpenSSL_chain_certificate(stack, index), isIncluded(x509) else { return nil }
            return try? Certificate(retaining: x509)
        }
    }
}
