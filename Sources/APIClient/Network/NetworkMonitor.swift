import CNetlink
import CertificatePinning
import Foundation
import Synchronization

/// Tells whether the machine has a network, from the kernel's lists of interfaces and routes (rtnetlink(7)).
///
/// The monitor needs no rights and no other program. It holds one descriptor, which it closes when it is deallocated. Where the system does
/// not let it listen, as in some sandboxes, the status is ``NetworkStatus/unknown``.
///
/// The status is a hint: no request is skipped because of it. ``AwaitNetwork`` lets requests wait.
public final class NetworkMonitor: Sendable {
    private struct Listeners {
        var status = NetworkStatus.unknown
        var nextID: UInt64 = 0
        var continuations: [UInt64: AsyncStream<NetworkStatus>.Continuation] = [:]
    }

    private let listeners: ListenerBox
    private let source: NetlinkSource?
    private let findRoute: @Sendable (CanonicalHost) -> Bool

    /// Begins to listen; ``status`` is known a moment later.
    public convenience init() { self.init(descriptor: NetlinkSource.openSocket()) }

    /// Begins to listen to a socket, which a test opens in another network namespace.
    convenience init(descriptor: Int32?) {
        let listeners = ListenerBox()
        let source = descriptor.map { NetlinkSource(descriptor: $0) { listeners.publish($0) } }
        self.init(listeners, source: source, findRoute: Self.hasRoute)
    }

    /// A monitor without the kernel, whose status a test sets with ``publish(_:)``.
    init(testing status: NetworkStatus, findRoute: @escaping @Sendable (CanonicalHost) -> Bool = { _ in false }) {
        listeners = ListenerBox()
        source = nil
        self.findRoute = findRoute
        listeners.publish(status)
    }

    private init(_ listeners: ListenerBox, source: NetlinkSource?, findRoute: @escaping @Sendable (CanonicalHost) -> Bool) {
        self.listeners = listeners
        self.source = source
        self.findRoute = findRoute
    }

    deinit {
        source?.stop()
        listeners.finish()
    }

    /// The status now.
    public var status: NetworkStatus { listeners.status }

    /// Tells whether a request to a host has a way now.
    ///
    /// This machine is reachable, and so is an address to which the kernel has a route. For any other host the answer is ``status``: a name
    /// is not looked up. No packet is sent, so ``NetworkStatus/reachable`` does not say that the host answers.
    ///
    /// - Parameter hostName: A host name or an IP address, such as the host of a URL.
    /// - Returns: The status of the network for this host.
    /// - Throws: ``APIError`` with code `invalidURL` when the text is neither a host name nor an address.
    public func status(of hostName: String) throws -> NetworkStatus {
        do {
            return needsNoDefaultRoute(try CanonicalHost(hostName)) ? .reachable : status
        } catch {
            throw APIError(.invalidURL, "the host is malformed; give a host name or an IP address without scheme and port", cause: error)
        }
    }

    /// A stream of the status: the present one, then each change.
    ///
    /// A listener that does not read gets the newest only. The stream ends with the monitor.
    public var changes: AsyncStream<NetworkStatus> { listeners.stream() }

    /// Whether a request to the host needs no default route: it is this machine, or an address with a route.
    func needsNoDefaultRoute(_ host: CanonicalHost) -> Bool { host.isLoopback || findRoute(host) }

    /// Publishes a status; for tests.
    func publish(_ status: NetworkStatus) { listeners.publish(status) }

    /// The descriptor of the socket; nil where the system does not let the monitor listen.
    var descriptor: Int32? { source?.descriptor }

    /// The number of streams that have not ended.
    var listenerCount: Int { listeners.count }

    /// Whether the kernel has a route to a host that is an address.
    ///
    /// A name is not looked up: that would tell the name server about a host that may be called over a relay or a proxy.
    private static func hasRoute(to host: CanonicalHost) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 16)
        let family = host.kind == .ipv4 ? AF_INET : AF_INET6
        guard host.kind != .name, inet_pton(family, host.name, &bytes) == 1 else { return false }
        return CNetlink_has_route(&bytes, host.kind == .ipv4 ? 4 : 16) == 1
    }

    /// The status and the streams of it.
    private final class ListenerBox: Sendable {
        private let state = Mutex(Listeners())

        var status: NetworkStatus { state.withLock(\.status) }
        var count: Int { state.withLock(\.continuations.count) }

        func publish(_ status: NetworkStatus) {
            let continuations = state.withLock { state -> [AsyncStream<NetworkStatus>.Continuation] in
                guard state.status != status else { return [] }
                state.status = status
                return Array(state.continuations.values)
            }
            for continuation in continuations { continuation.yield(status) }
        }

        func stream() -> AsyncStream<NetworkStatus> {
            let (stream, continuation) = AsyncStream.makeStream(of: NetworkStatus.self, bufferingPolicy: .bufferingNewest(1))
            // The present status is yielded under the lock, so that no newer one comes before it.
            let id = state.withLock { state in
                state.nextID += 1
                state.continuations[state.nextID] = continuation
                continuation.yield(state.status)
                return state.nextID
            }
            continuation.onTermination = { [weak self] _ in _ = self?.state.withLock { $0.continuations.removeValue(forKey: id) } }
            return stream
        }

        func finish() {
            let continuations = state.withLock { Array($0.continuations.values) }
            for continuation in continuations { continuation.finish() }
        }
    }
}
