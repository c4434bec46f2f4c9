internal import COpenSSL

/// Tries the paths of a graph, one after the other, the shortest first as far as each step can tell.
///
/// Every path from the server's certificate to a root that the graph has is tried, unless the budget ends before: the search gives up a
/// part of a path only where no whole one can be valid.
struct PathSearch {
    private let graph: PathGraph
    /// What is left.
    private(set) var budget: PathSearchBudget

    init(_ graph: PathGraph, budget: PathSearchBudget) {
        self.graph = graph
        self.budget = budget
    }

    /// The first path that verifies.
    ///
    /// - Parameter verify: Verifies the certificates from the server's to the root; nil: they are no valid path.
    /// - Returns: What the first verification brought that was not nil.
    mutating func first<Path>(_ verify: ([Certificate]) -> Path?) -> Path? {
        graph.certificates.isEmpty ? nil : extend([0], below: 0, verify)
    }

    private mutating func extend<Path>(_ path: [Int], below: Int, _ verify: ([Certificate]) -> Path?) -> Path? {
        guard let last = path.last else { return nil }
        for issuer in graph.issuers(of: last, below: below, height: PathCheck.maximumLength - path.count) {
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

    /// Whether the issuer's name constraints permit the intermediates below it; of the server's certificate the graph knows already.
    private func permits(_ issuer: Int, _ path: [Int]) -> Bool {
        path.dropFirst().allSatisfy { index in
            graph.length(of: index) == 0
                || NameConstraints.judge(graph.certificates[index], below: graph.certificates[issuer]) == X509_V_OK
        }
    }
}
