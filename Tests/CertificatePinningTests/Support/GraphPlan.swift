import ApproovTesting

/// A graph of certificates before it is minted: its authorities, which of them certify which, and the flaws of the certificates.
struct GraphPlan {
    /// The possible flaws of one certificate.
    enum Flaw: CaseIterable {
        case expired, notYetValid, wrongKeyUsage, notCA, noBasicConstraints, pathLength, badSignature, weakSignature, clientsOnly
        case unknownCriticalExtension, excludesHost, permitsOthers, excludesBehindWildcard, excludesAuthority
    }

    /// One certificate of one authority.
    struct Node {
        /// The number of the subject's name.
        var name: Int
        /// The number of the subject's key.
        var key: Int
        /// The name and the key of the authority that signed it; nil if it is self-signed.
        var issuer: (name: Int, key: Int)?
        var flaw: Flaw?
        var isTrusted = false
        /// Whether the server sends it.
        var isSent = true
    }

    /// The kinds of graphs.
    enum Kind: CaseIterable {
        /// Authorities with certificates from several issuers.
        case crossSigned
        /// A sound path with a flawed twin beside each of its certificates.
        case invalidEdge
        /// Authorities that certify one another through a bridge.
        case bridge
    }

    /// The maximum number of certificates in a graph, with the server's.
    static let maximumCount = 20

    private(set) var nodes: [Node] = []
    /// The authority that issued the server's certificate.
    private(set) var leafIssuer: (name: Int, key: Int) = (0, 0)
    /// Whether certificates identify the key that signed them; if not, OpenSSL uses names alone.
    let hasKeyIdentifiers: Bool

    /// A graph of exactly these certificates.
    init(_ nodes: [Node], leafIssuer: (name: Int, key: Int), hasKeyIdentifiers: Bool = true) {
        self.nodes = nodes
        self.leafIssuer = leafIssuer
        self.hasKeyIdentifiers = hasKeyIdentifiers
    }

    init(_ kind: Kind, using random: inout SeededGenerator) {
        hasKeyIdentifiers = Int.random(in: 0..<3, using: &random) > 0
        switch kind {
        case .crossSigned: crossSign(using: &random)
        case .invalidEdge: flawTwins(using: &random)
        case .bridge: bridge(using: &random)
        }
        nodes = Array(nodes.prefix(Self.maximumCount - 1))
    }

    private mutating func add(_ node: Node, flawedOneIn odds: Int, using random: inout SeededGenerator) {
        var node = node
        if Int.random(in: 0..<odds, using: &random) == 0 { node.flaw = Flaw.allCases.randomElement(using: &random) }
        nodes.append(node)
    }

    /// Layers of authorities, each certified by authorities of the layer above; the top layer has roots, some of them trusted.
    private mutating func crossSign(using random: inout SeededGenerator) {
        let layers = Int.random(in: 1...4, using: &random)
        var authorities: [[(name: Int, key: Int)]] = []
        var number = 0
        for _ in 0...layers {
            var layer: [(name: Int, key: Int)] = []
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                // Sometimes a second key has the name of the first, as after a key change.
                let isRenewed = number > 0 && Int.random(in: 0..<6, using: &random) == 0
                layer.append((isRenewed ? number - 1 : number, number))
                number += 1
            }
            authorities.append(layer)
        }
        leafIssuer = authorities[0].randomElement(using: &random) ?? (0, 0)
        for (lower, upper) in zip(authorities, authorities.dropFirst()) {
            for authority in lower {
                for issuer in upper where Int.random(in: 0..<4, using: &random) > 0 {
                    for _ in 0..<Int.random(in: 1...2, using: &random) {
                        add(Node(name: authority.name, key: authority.key, issuer: issuer), flawedOneIn: 2, using: &random)
                    }
                }
            }
        }
        for root in authorities[layers] { addRoot(root, using: &random) }
        if authorities[layers].count == 2 {
            // Both roots certify each other.
            for (subject, issuer) in [(0, 1), (1, 0)] {
                let (subject, issuer) = (authorities[layers][subject], authorities[layers][issuer])
                add(Node(name: subject.name, key: subject.key, issuer: issuer), flawedOneIn: 3, using: &random)
            }
        }
    }

    /// A line of authorities, each with twins, at most one of them sound.
    private mutating func flawTwins(using random: inout SeededGenerator) {
        let height = Int.random(in: 1...5, using: &random)
        for level in 0..<height {
            var twins = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                Node(name: level, key: level, issuer: (level + 1, level + 1), flaw: Flaw.allCases.randomElement(using: &random))
            }
            // In nearly every case one twin is sound.
            if Int.random(in: 0..<12, using: &random) > 0 { twins[0].flaw = nil }
            nodes += twins
        }
        addRoot((height, height), using: &random)
        addRoot((height + 1, height + 1), using: &random)
        add(Node(name: height, key: height, issuer: (height + 1, height + 1)), flawedOneIn: 3, using: &random)
    }

    /// Domains with a root and an authority each, and a bridge that certifies the roots and that the roots certify.
    private mutating func bridge(using random: inout SeededGenerator) {
        let domains = Int.random(in: 2...4, using: &random)
        let bridge = (name: 100, key: 11)
        leafIssuer = (0, 0)
        for domain in 0..<domains {
            let root = (name: 10 + domain, key: 5 + domain)
            add(Node(name: domain, key: domain, issuer: root), flawedOneIn: 8, using: &random)
            add(Node(name: root.name, key: root.key, issuer: bridge), flawedOneIn: 4, using: &random)
            add(Node(name: bridge.name, key: bridge.key, issuer: root), flawedOneIn: 4, using: &random)
            addRoot(root, using: &random)
        }
    }

    private mutating func addRoot(_ authority: (name: Int, key: Int), using random: inout SeededGenerator) {
        var root = Node(name: authority.name, key: authority.key)
        root.isTrusted = Int.random(in: 0..<3, using: &random) > 0
        root.isSent = !root.isTrusted || Bool.random(using: &random)
        add(root, flawedOneIn: 6, using: &random)
    }
}
