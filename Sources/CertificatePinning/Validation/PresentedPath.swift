internal import COpenSSL

/// The certificates that a server sent, of which nothing is verified.
///
/// The pointers are borrowed from OpenSSL for the duration of one check.
struct PresentedPath {
    let leaf: OpaquePointer?
    /// A STACK_OF(X509) that contains the leaf, too; nil when the server sent nothing.
    let certificates: OpaquePointer?

    /// The certificates, the server's own first and only once.
    func all() -> [Certificate] {
        let others = PresentedPath.array(certificates) { $0 != leaf }
        guard let leaf, let first = try? Certificate(retaining: leaf) else { return others }
        return [first] + others
    }

    /// The certificates of a STACK_OF(X509), each with its own reference.
    static func array(_ stack: OpaquePointer?, where isIncluded: (OpaquePointer) -> Bool = { _ in true }) -> [Certificate] {
        let count = max(0, COpenSSL_chain_count(stack))
        var certificates: [Certificate] = []
        certificates.reserveCapacity(Int(count))
        for index in 0..<count {
            guard let x509 = COpenSSL_chain_certificate(stack, index), isIncluded(x509),
                let certificate = try? Certificate(retaining: x509)
            else { continue }
            certificates.append(certificate)
        }
        return certificates
    }
}
