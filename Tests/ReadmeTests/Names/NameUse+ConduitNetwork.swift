import Approov
import ApproovTesting
import CertificatePinning
import Foundation
import FoundationNetworking
import HTTPClient
import Testing

@testable import APIClient

/// Refuses every server, as a policy of the app can.
private struct Refusing: ServerTrustEvaluating {
    func evaluate(_ trust: ServerTrust, forHost host: String) -> TrustVerdict {
        .refused(TrustRefusal(.evaluatorFailed, trust: trust, detail: "not today"))
    }
}

extension NameUse {
    /// Conduit's policies for servers, and its view of the network.
    static let conduitNetwork: [NameUse] = [
        NameUse("ServerAuthenticationPolicy, serverAuthenticationPolicies") { (_) async throws in
            let root = try TestPKI.root()
            let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
            let evaluator: any ServerTrustEvaluating = Refusing()
            // The evaluators of an ApproovTrustManager(evaluators:) judge the hosts that they are for.
            #expect(try await !trusts(leaf, below: root, ["api.test": evaluator]))
            #expect(try await trusts(leaf, below: root, ["other.test": evaluator]))
        },
        NameUse("SSLPinningServerAuthenticationPolicy, CertificateBundle") { (_) async throws in
            let (root, other) = (try TestPKI.root(), try TestPKI.root("Other Root"))
            let leaf = try TestPKI.leaf(hosts: ["api.test"], issuer: root)
            for (pinned, isTrusted) in [(root, true), (other, false)] {
                let evaluator = try PinnedCertificatesTrustEvaluator(bytes: Array(pinned.pem.utf8))
                #expect(try await trusts(leaf, below: root, ["api.test": evaluator]) == isTrusted)
            }
            let backup = try TestKey().pin
            for (pin, isTrusted) in [(leaf.pin, true), (try TestKey().pin, false)] {
                let evaluator = try PublicKeysTrustEvaluator(pins: [pin, backup])
                #expect(try await trusts(leaf, below: root, ["api.test": evaluator]) == isTrusted)
            }
        },
        NameUse("AwaitNetworkConnectivityRequestPipelineMiddleware") { (world) async throws in
            let (monitor, clock) = (NetworkMonitor(testing: .unreachable), ManualClock())
            let interceptor = AwaitNetwork(monitor: monitor, timeout: .seconds(30), spread: .zero, clock: clock)
            let session = try session(world) { $0.interceptors = [interceptor] }
            let first = Task { try await session.data(from: url) }
            await clock.sleepers(atLeast: 1)
            #expect(world.apiRequests.isEmpty)
            monitor.publish(.reachable)
            _ = try await first.value
            #expect(world.apiRequests.count == 1 && clock.uptime == .seconds(3_600))
            monitor.publish(.unreachable)
            let second = Task { try await session.data(from: url) }
            await clock.sleepers(atLeast: 1)
            #expect(world.apiRequests.count == 1)
            clock.advance(by: .seconds(30))
            _ = try await second.value
            #expect(world.apiRequests.count == 2)
        },
        NameUse("NetworkReachability") { (_) async throws in
            let monitor: NetworkMonitor = NetworkMonitor(testing: .unreachable)
            #expect(monitor.status == .unreachable)
            var changes = monitor.changes.makeAsyncIterator()
            #expect(await changes.next() == .unreachable)
            monitor.publish(.reachable)
            #expect(monitor.status == .reachable)
            #expect(await changes.next() == .reachable)
        },
        NameUse("NetworkReachability(hostName:)") { (_) async throws in
            let monitor: NetworkMonitor = NetworkMonitor(testing: .unreachable) { $0.name == "192.0.2.7" }
            for host in ["localhost", "192.0.2.7"] { #expect(try monitor.status(of: host) == .reachable) }
            for host in ["api.test", "192.0.2.8"] { #expect(try monitor.status(of: host) == .unreachable) }
        },
    ]
}
