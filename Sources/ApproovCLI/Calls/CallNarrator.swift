import HTTPClient
import Synchronization

/// Prints, for `approov call -v`, the configuration and the token of each request that leaves.
///
/// It wraps the session's transport, because fetching a token may bring a new configuration: only here is the request's own known.
final class CallNarrator: HTTPTransport {
    private let base: any HTTPTransport
    private let plan: CallPlan
    private let hasSpoken = Mutex(false)

    /// - Parameters:
    ///   - base: The transport that sends.
    ///   - plan: The call.
    init(_ base: any HTTPTransport, plan: CallPlan) {
        self.base = base
        self.plan = plan
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let isFirst = hasSpoken.withLock { hasSpoken in
            defer { hasSpoken = true }
            return !hasSpoken
        }
        for line in try await plan.lines(for: request, isFirst: isFirst) { Console.note(line) }
        return try await base.send(request)
    }

    /// Prints how the call would have been treated, when it failed before a request was sent.
    func nothingLeft() throws {
        guard !hasSpoken.withLock({ $0 }) else { return }
        for line in try plan.treatmentLines() { Console.note(line) }
    }
}
