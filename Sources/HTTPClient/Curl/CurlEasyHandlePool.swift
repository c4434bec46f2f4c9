import Synchronization

/// Keeps easy handles for later requests: making one and setting its options costs more than the rest of a request's work.
final class CurlEasyHandlePool: Sendable {
    private static let capacity = 128
    private let idle = Mutex<[CurlEasyHandle]>([])

    func take() throws(TransportError) -> CurlEasyHandle {
        if let handle = idle.withLock({ $0.popLast() }) { return handle }
        return try CurlEasyHandle()
    }

    func give(back handle: CurlEasyHandle) {
        handle.forgetRequest()
        idle.withLock { idle in
            if idle.count < Self.capacity { idle.append(handle) }
        }
    }
}
