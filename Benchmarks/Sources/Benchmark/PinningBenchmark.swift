import AllocationCounter
import ApproovTesting
import CertificatePinning
import Foundation
import HandshakeLoop

/// (h) What pins cost, beside the client's half of the TLS handshake in which they are evaluated: at most a twentieth of it.
///
/// Path validation is the handshake's own, and so is reading the certificates. What is done for the pins is this: the key of every
/// certificate of the validated path is encoded and hashed, and the set of pins is asked.
struct PinningBenchmark {
    let options: Options

    func run() async throws -> [Figure] {
        try await figures("P-256 path of three", .p256) + figures("RSA 2048 path of three", .rsa2048)
    }

    private func figures(_ scenario: String, _ type: TestKeyType) async throws -> [Figure] {
        let host = "api.test"
        let root = try TestPKI.root(key: TestKey(type))
        let intermediate = try TestPKI.intermediate(issuer: root, key: TestKey(type))
        let leaf = try TestPKI.leaf(hosts: [host], issuer: intermediate, key: TestKey(type))
        // The root's pin: the last one that is looked for.
        let evaluator = try PublicKeysTrustEvaluator(pins: [root.pin, Pin(spki: [1])])
        let trust = try ChainValidator.evaluate(
            chain: leaf.chain().map { try Certificate(der: $0.der) }, host: CanonicalHost(host),
            rule: TrustRule(evaluators: [evaluator]), defaultAnchors: TrustAnchors(pem: root.pem), time: Date()
        ).get()
        let keys = leaf.chain(includingRoot: true).map(\.key.spki)
        let (chainPEM, keyPEM, rootPEM) = (leaf.chainPEM, leaf.privateKeyPEM, root.pem)
        let subjects = [
            Subject("pins of the path") {
                let encoding = handshake_encode_keys_nanoseconds(chainPEM + rootPEM, 10_000)
                guard encoding > 0 else { throw BenchmarkError("the keys do not encode") }
                // What OpenSSL does is no part of the cost: it depends on no build of this package.
                let before = OwnProcess().processorSeconds
                let counted = allocation_counter_value()
                let hashing = try await nanosecondsPerCall(during: options.seconds) {
                    for key in keys { blackHole(Pin(spki: key)) }
                    guard case .trusted = evaluator.evaluate(trust, forHost: host) else {
                        throw BenchmarkError("the pins do not match")
                    }
                }
                let calls = Double(hashing.operations)
                let cost = Cost(
                    processorNanoseconds: (OwnProcess().processorSeconds - before) * 1e9 / calls,
                    allocations: Double(allocation_counter_value() - counted) / calls)
                return Round(value: encoding + hashing.value, operations: hashing.operations, cost: cost)
            },
            Subject("TLS 1.3 handshake, client", isPeer: true) {
                let nanoseconds = handshake_client_nanoseconds(chainPEM, keyPEM, rootPEM, host, 200)
                guard nanoseconds > 0 else { throw BenchmarkError("the handshake failed") }
                return Round(value: nanoseconds, operations: 200)
            },
        ]
        return try await Comparison(group: "pinning", scenario: scenario, unit: .nanoseconds, peers: ["TLS 1.3 handshake, client"])
            .run(subjects, options: options)
    }
}
