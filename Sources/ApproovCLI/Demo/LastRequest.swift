import HTTPClient
import Synchronization

/// A transport that keeps the last request, as someone on the way could.
final class LastRequest: HTTPTransport {
    private let base: any HTTPTransport
    private let last = Mutex<TransportRequest?>(nil)

    init(base: any HTTPTransport) { self.base = base }

    var request: TransportRequest? { last.withLock { $0 } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        last.withLock { $0 = request }
        return try await base.send(request)
    }
}
