internal import COpenSSL

/// Tries the paths of a graph one after the other, at each step the issuer with the shortest way to a root first.
///
/// Unless the budget runs out, it tries every path of the graph from the server's certificate to a root. It abandons a partial path only if
/// no path that begins with it can be valid.
struct PathSearch {
    private let graph: PathGraph
    /// The remaining budget.
    private(set) var budget: PathSearchBudget

    init(_ graph: PathGraph, budget: PathSearchBudget) {
        self.graph = graph
        self.budget = budget
    }

    /// Returns the first path that verifies.
    ///
    /// - Parameter verify: Verifies the certificates from the server's to the root; returns nil for an invalid path.
    /// - Returns: The first result of `verify` that is not nil.
    mutating func first<Path>(_ verify: ([Certificate]) -> Path?) -> Path? {
        graph.certificates.isEmpty ? nil : extend([0], below: 0, verify)
    }

    private mutating func extend<Path>(_ path: [Int], below: Int, _ verify: ([Certificate]) -> Path?) -> Path? {
        guard let last = path.last else { return nil }
        for issuer in graph.issuers(of: last, below: below, height: PathSearchLimit.maximumLength - path.count) {
            guard budget.hasTime() else { return nil }
            guard !path.contains(issuer), permits(issuer, path) else { continue }
            let extended = path + [issuer]
            let found: Path?
            if graph.isAnchor(issuer) {
                guard budget.takePath() else { return nil }
                found = verify(extended.map { graph.certificates[$0] })
            } else {
                found = extend(extended, below: below + graph.length(of: issuer), verify)
            }
            if let found { return found }
        }
        return nil
    }

    /// Whether the issuer's name constraints permit the intermediates below it; the graph has already checked the server's certificate.
    private func permits(_ issuer: Int, _ path: [Int]) -> Bool {
        path.dropFirst().allSatisfy { index in
            graph.length(of: index) == 0
                || NameConstraints.judge(graph.certificates[index], below: graph.certificates[issuer]) == X509_V_OK
        }
    }
}
