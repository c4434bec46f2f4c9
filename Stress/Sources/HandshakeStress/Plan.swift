import CertificatePinning
import Foundation
import HTTPClient
import Synchronization

/// The policy and the server of each request.
final class Plan: Sendable {
    /// Counts calls of an evaluator.
    final class Count: Sendable {
        private let count = Atomic(0)
        var value: Int { count.load(ordering: .relaxed) }
        func add() { count.wrappingAdd(1, ordering: .relaxed) }
    }

    let evaluated = Count()
    private let anchors: TrustAnchors
    private let good: [any ServerTrustEvaluating]
    private let bad: [any ServerTrustEvaluating]
    private let ports: [Int]
    /// The current policies, which are replaced while requests are under way, as in a pin rotation.
    private let policies = Mutex<[Bool: TrustPolicy]>([:])

    init(roots: [Certificate], ports: [Int]) throws {
        anchors = try TrustAnchors(certificates: roots)
        self.ports = ports
        let evaluated = evaluated
        let counting = evaluator { _, _ in
            evaluated.add()
            return .trusted
        }
        // Asking for a stapled response makes TLS 1.2 handshakes end in the second callback; a soft failure accepts its absence.
        let status = RevocationTrustEvaluator(sources: .withoutNetwork, failure: .soft)
        let keys = Set(roots.map(\.pin) + [Pin(spki: [1])])
        good = [counting, CompositeTrustEvaluator(evaluators: [try PublicKeysTrustEvaluator(pins: keys), status])]
        bad = [counting, try PublicKeysTrustEvaluator(pins: [Pin(spki: [1]), Pin(spki: [2])])]
    }

    func request(_ number: Int, isGood: Bool) throws -> TransportRequest {
        let policy = try policies.withLock { policies in
            if number % 50 > 1, let policy = policies[isGood] { return policy }
            let rule = TrustRule(evaluators: isGood ? good : bad)
            let policy = TrustPolicy(rules: try HostMap([(HostPattern("localhost"), rule)]), defaultAnchors: anchors)
            policies[isGood] = policy
            return policy
        }
        return TransportRequest(url: try TransportURL("https://localhost:\(ports[number % ports.count])/"), policy: policy)
    }
}
