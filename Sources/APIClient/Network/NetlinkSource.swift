import CNetlink
import Dispatch
import Foundation
import Synchronization

/// Holds the socket of a ``NetworkMonitor``, and carries out what ``NetworkMonitorState`` decides.
final class NetlinkSource: Sendable {
    /// Larger than any datagram of the kernel's lists, which have at most 32 KiB.
    private static let bufferSize = 64 << 10

    private let queue = DispatchQueue(label: "approov.network-monitor")
    let descriptor: Int32
    /// Unsafe in name only: a dispatch source may be used from any thread, but its type does not say so.
    nonisolated(unsafe) private let events: any DispatchSourceRead
    private let state = Mutex(NetworkMonitorState())
    private let publish: @Sendable (NetworkStatus) -> Void

    /// Listens to a socket, and closes it when it is stopped.
    ///
    /// - Parameters:
    ///   - descriptor: The socket; the kernel sends it the changes of the network namespace in which it was opened.
    ///   - publish: Gets each change of the status, on the queue of this object.
    init(descriptor: Int32, publish: @escaping @Sendable (NetworkStatus) -> Void) {
        self.descriptor = descriptor
        self.publish = publish
        events = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        events.setCancelHandler { [descriptor] in close(descriptor) }
        events.setEventHandler { [weak self] in self?.receiveAll() }
        events.activate()
        queue.async { [weak self] in self?.begin() }
    }

    /// Opens a socket; nil when the system refuses.
    static func openSocket() -> Int32? {
        let descriptor = CNetlink_open()
        return descriptor < 0 ? nil : descriptor
    }

    /// Closes the socket.
    func stop() { events.cancel() }

    private func begin() {
        guard !events.isCancelled else { return }
        perform(state.withLock { $0.begin() })
    }

    private func receiveAll() {
        var buffer = [UInt8](repeating: 0, count: Self.bufferSize)
        while !events.isCancelled {
            var isKernel: Int32 = 0
            let count = CNetlink_receive(descriptor, &buffer, buffer.count, &isKernel)
            if count < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN: return
                case ENOBUFS: perform(state.withLock { $0.overrun() })
                default:
                    perform(state.withLock { $0.failed() })
                    return events.cancel()
                }
            } else if isKernel == 0 {
                continue
            } else if count > buffer.count {
                perform(state.withLock { $0.overrun() })
            } else {
                let datagram = Array(buffer[..<count])
                perform(state.withLock { $0.receive(datagram) })
            }
        }
    }

    private func perform(_ actions: [NetworkMonitorState.Action]) {
        for action in actions {
            switch action {
            case .requestLinks(let sequence): request(UInt16(RTM_GETLINK), sequence)
            case .requestRoutes(let sequence): request(UInt16(RTM_GETROUTE), sequence)
            case .pause(let duration):
                let seconds: Double = duration / .seconds(1)
                queue.asyncAfter(deadline: .now() + seconds) { [weak self] in self?.begin() }
            case .publish(let status): publish(status)
            }
        }
    }

    private func request(_ kind: UInt16, _ sequence: UInt32) {
        guard CNetlink_dump(descriptor, kind, sequence) != 0 else { return }
        perform(state.withLock { $0.failed() })
    }
}
