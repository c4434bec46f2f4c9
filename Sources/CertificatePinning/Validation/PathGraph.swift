internal import COpenSSL

/// The sent and the trusted certificates, with the issuers of each: the graph contains every path from the server to a root.
///
/// Issuers and signatures that OpenSSL refuses on every path are left out, and issuers whose name constraints exclude the server.
struct PathGraph {
    /// The server's certificate first.
    let certificates: [Certificate]
    private let isAnchor: [Bool]
    /// The issuers of each certificate; empty for a root and for a certificate that no path leads to.
    private var issuers: [[Int]]
    /// For each number of certificates that may still follow: how many certificates may stand between each certificate and the server's.
    ///
    /// This shows, without trying a path, where path length constraints (RFC 5280, section 4.2.1.9) or the length limit rule one out.
    private var capacities: [[Int]] = []

    /// The largest number of certificates above the server's.
    private static let maximumHeight = PathSearchLimit.maximumLength - 1
    /// The capacity of a certificate that no path length constraint limits.
    private static let unlimited = Int(Int32.max)
    /// The capacity of a certificate from which no path leads to a root.
    private static let none = -1

    /// Finds the issuers.
    ///
    /// - Parameters:
    ///   - sent: The certificates that the server sent, its own first.
    ///   - trusted: The roots, and the intermediates that were configured with them.
    ///   - rules: The conditions for an issuer.
    ///   - budget: The remaining search time; once it is exhausted, further issuers are not found.
    ///   - permits: Whether an issuer's name constraints permit the server's names and the requested host; asked at most once for each
    ///     issuer.
    ///   - signs: Whether the key of the first certificate signed the second one.
    init(
        sent: [Certificate], trusted: [Certificate], rules: IssuerRules, budget: inout PathSearchBudget, permits: (Certificate) -> Bool,
        signs: (Certificate, Certificate) -> Bool = PathGraph.signs
    ) {
        // Trusted certificates come before sent ones, because only the first of two copies counts.
        certificates = Array(sent.prefix(1)) + trusted + sent.dropFirst()
        isAnchor =
            sent.prefix(1).map { _ in false } + trusted.map(\.isSelfSigned) + sent.dropFirst().map { _ in false }
        issuers = Array(repeating: [], count: certificates.count)
        let subjects = findSubjects(rules, &budget)
        findIssuers(of: subjects, &budget, signs)
        removeUnjoinedIssuers()
        measure()
        removeExcludingIssuers(&budget, permits)
        sortIssuers()
    }

    /// Whether a path ends at the certificate.
    func isAnchor(_ index: Int) -> Bool { isAnchor[index] }

    /// The issuers that can continue a path, those with the shortest way to a root first.
    ///
    /// - Parameters:
    ///   - index: The last certificate of the path so far.
    ///   - below: How many certificates of the path so far count toward path length constraints.
    ///   - height: How many more certificates the path may have.
    /// - Returns: Their indices in ``certificates``.
    func issuers(of index: Int, below: Int, height: Int) -> [Int] {
        guard height > 0 else { return [] }
        return issuers[index].filter { capacities[height - 1][$0] >= below }
    }

    /// How much a certificate counts toward the path length constraints above it.
    ///
    /// Zero for the server's certificate and for a self-issued one, which results from a key change; one for all others.
    func length(of index: Int) -> Int { index == 0 || certificates[index].isSelfIssued ? 0 : 1 }

    /// Whether the issuer's key signed the subject.
    static func signs(_ issuer: Certificate, _ subject: Certificate) -> Bool {
        X509_verify(subject.x509, X509_get0_pubkey(issuer.x509)) == 1
    }

    /// Finds the certificates that each issuer may have signed, by names and key identifiers; no signature is verified yet.
    private func findSubjects(_ rules: IssuerRules, _ budget: inout PathSearchBudget) -> [[Int]] {
        let possible = possibleIssuers(rules)
        var subjects = [[Int]](repeating: [], count: certificates.count)
        var isReached = certificates.indices.map { $0 == 0 }
        var queue = certificates.isEmpty ? [] : [0]
        while let subject = queue.popLast() {
            guard budget.hasTime() else { break }
            for issuer in possible
            where issuer != subject && X509_check_issued(certificates[issuer].x509, certificates[subject].x509) == X509_V_OK {
                subjects[issuer].append(subject)
                if !isReached[issuer], !isAnchor[issuer] { queue.append(issuer) }
                isReached[issuer] = true
            }
        }
        return subjects
    }

    /// The certificates that meet the rules for an issuer; of two copies, only the first.
    private func possibleIssuers(_ rules: IssuerRules) -> [Int] {
        var seen: Set<[UInt8]> = []
        return certificates.indices.dropFirst().filter { index in
            let certificate = certificates[index]
            // A self-signed certificate has no issuer but itself: it is either a root or a dead end.
            return (isAnchor[index] || !certificate.isSelfSigned) && rules.admit(certificate, isAnchor: isAnchor[index])
                && seen.insert(certificate.der).inserted
        }
    }

    /// Finds the issuers whose signatures join a subject to a root.
    ///
    /// Signatures are slow to verify. So the search begins at the roots, and verifies a signature only if verified ones join its issuer to a
    /// root. Certificates that no root certified can name one another as issuers: such signatures are never verified.
    private mutating func findIssuers(
        of subjects: [[Int]], _ budget: inout PathSearchBudget, _ signs: (Certificate, Certificate) -> Bool
    ) {
        var isJoined = isAnchor
        var queue = certificates.indices.filter { isAnchor[$0] }
        while let issuer = queue.popLast() {
            for subject in subjects[issuer] {
                guard budget.hasTime() else { return }
                guard signs(certificates[issuer], certificates[subject]) else { continue }
                issuers[subject].append(issuer)
                if !isJoined[subject] { queue.append(subject) }
                isJoined[subject] = true
            }
        }
    }

    /// Removes the issuers that no verified signatures join to the server.
    private mutating func removeUnjoinedIssuers() {
        var isJoined = certificates.indices.map { $0 == 0 }
        var queue = certificates.isEmpty ? [] : [0]
        while let subject = queue.popLast() {
            for issuer in issuers[subject] where !isJoined[issuer] {
                isJoined[issuer] = true
                queue.append(issuer)
            }
        }
        for index in certificates.indices where !isJoined[index] { issuers[index] = [] }
    }

    /// Removes the issuers whose name constraints exclude the server.
    ///
    /// Such a check can take a second. So it waits until verified signatures join the issuer to the server and to a root: a server that no
    /// root certified cannot cause it. OpenSSL, too, checks the names after the signatures.
    private mutating func removeExcludingIssuers(_ budget: inout PathSearchBudget, _ permits: (Certificate) -> Bool) {
        var excluding: Set<Int> = []
        for issuer in Set(issuers.joined()).sorted()
        where capacities[Self.maximumHeight][issuer] > Self.none && NameConstraints.exist(in: certificates[issuer]) {
            guard budget.hasTime() else { return }
            if !permits(certificates[issuer]) { excluding.insert(issuer) }
        }
        guard !excluding.isEmpty else { return }
        for index in issuers.indices { issuers[index].removeAll(where: excluding.contains) }
        measure()
    }

    private mutating func measure() {
        let limits = certificates.map { certificate in
            let limit = X509_get_pathlen(certificate.x509)
            return limit < 0 ? Self.unlimited : limit
        }
        capacities = [certificates.indices.map { isAnchor[$0] ? limits[$0] : Self.none }]
        for height in 1...Self.maximumHeight {
            let above = capacities[height - 1]
            capacities.append(
                certificates.indices.map { index in
                    guard !isAnchor[index], let best = issuers[index].map({ above[$0] }).max() else { return above[index] }
                    return max(Self.none, min(limits[index], best - length(of: index)))
                })
        }
    }

    private mutating func sortIssuers() {
        let heights = certificates.indices.map { index in
            capacities.firstIndex { $0[index] > Self.none } ?? Self.maximumHeight
        }
        for index in issuers.indices { issuers[index].sort { (heights[$0], $0) < (heights[$1], $1) } }
    }
}
