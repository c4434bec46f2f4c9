public import Approov
import ApproovBase
import CertificatePinning
import Foundation
public import FoundationNetworking
import HTTPClient

/// Lets requests wait while the machine has no network.
///
/// ```swift
/// var configuration = ApproovSessionConfiguration()
/// configuration.interceptors = [AwaitNetwork(monitor: NetworkMonitor(), timeout: .seconds(10))]
/// ```
///
/// A request waits while the monitor's status is ``NetworkStatus/unreachable``, but no longer than the timeout. It is then sent anyway, and
/// fails if there is still no network. Requests to this machine, and to IP addresses that have a route, do not wait. Names are not
/// looked up, so a request to a name waits where there is no default route. When the network returns, each waiting request is sent at a
/// random moment within ``spread``, so that not all leave at once.
public struct AwaitNetwork: RequestInterceptor, DelayingInterceptor {
    /// The monitor that tells when the network returns.
    public let monitor: NetworkMonitor
    /// The longest time to wait.
    public let timeout: Duration
    /// The time over which waiting requests leave when the network returns.
    public let spread: Duration
    private let time: any TimeSource

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - monitor: Tells whether there is a network.
    ///   - timeout: The longest time to wait.
    ///   - spread: The time over which waiting requests leave when the network returns; each takes a random moment of it.
    ///   - clock: The clock.
    public init(
        monitor: NetworkMonitor, timeout: Duration = .seconds(30), spread: Duration = .seconds(1),
        clock: any TimeSource = SystemTimeSource()
    ) {
        self.monitor = monitor
        self.timeout = timeout
        self.spread = spread
        time = clock
    }

    /// Returns the request unchanged, once there is a network or the timeout has passed.
    ///
    /// - Parameter request: The request.
    /// - Returns: The request.
    /// - Throws: `CancellationError` when the task is cancelled meanwhile.
    public func adapt(_ request: URLRequest) async throws -> URLRequest {
        guard monitor.status == .unreachable, let url = request.url, let host = try? TransportURL(url).host,
            !monitor.needsNoDefaultRoute(host)
        else { return request }
        let hasReturned = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await status in monitor.changes where status != .unreachable { return true }
                return false
            }
            group.addTask {
                try await time.sleep(for: timeout)
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
        try Task.checkCancellation()
        if hasReturned, spread > .zero { try await time.sleep(for: spread * Double.random(in: 0..<1)) }
        return request
    }
}
