import Metrics
import Synchronization

/// The counters and timers of a session, each made when it is first needed.
final class ClientCounters: Sendable {
    /// The labels of one counter or timer; the number of their values is bounded.
    private struct Labels: Hashable {
        var method: String
        var host: String
        var isAttested: Bool
        var isOblivious: Bool
        /// The class of a status, or the code of a failure; nil for a timer.
        var result: String?

        func dimensions(_ name: String) -> [(String, String)] {
            var all = [
                ("method", method), ("host", host), ("attested", isAttested ? "true" : "false"),
                ("oblivious", isOblivious ? "true" : "false"),
            ]
            if let result { all.append((name, result)) }
            return all
        }
    }

    private struct Made {
        var calls: [Labels: Counter] = [:]
        var failures: [Labels: Counter] = [:]
        var durations: [Labels: Timer] = [:]
    }

    private let setting: ClientMetrics
    private let made = Mutex(Made())

    init(_ setting: ClientMetrics) {
        self.setting = setting
    }

    /// Counts a call that got a response.
    func finished(method: String, request: RequestSummary, status: Int, duration: Duration) {
        var labels = labels(method, request)
        time(duration, labels)
        labels.result = (100...599).contains(status) ? "\(status / 100)xx" : "other"
        made.withLock { [setting] made in
            Self.counter("approov_client_calls", "status", labels, in: &made.calls, setting)
        }.increment()
    }

    /// Counts a call that failed.
    func failed(method: String, request: RequestSummary?, code: ApproovError.Code?, duration: Duration) {
        var labels = labels(method, request)
        time(duration, labels)
        labels.result = FailureLabel.of(code)
        made.withLock { [setting] made in
            Self.counter("approov_client_failures", "code", labels, in: &made.failures, setting)
        }.increment()
    }

    private func labels(_ method: String, _ request: RequestSummary?) -> Labels {
        let host = request.map { setting.hosts.contains($0.host) ? $0.host : "other" } ?? "none"
        return Labels(method: method, host: host, isAttested: request?.isAttested ?? false, isOblivious: request?.isOblivious ?? false)
    }

    private func time(_ duration: Duration, _ labels: Labels) {
        let timer = made.withLock { [setting] made in
            if let timer = made.durations[labels] { return timer }
            let timer = Timer(label: "approov_client_duration", dimensions: labels.dimensions(""), factory: setting.factory)
            made.durations[labels] = timer
            return timer
        }
        timer.recordNanoseconds(Int64(min(duration / .nanoseconds(1), 9e18)))
    }

    private static func counter(
        _ label: String, _ name: String, _ labels: Labels, in counters: inout [Labels: Counter], _ setting: ClientMetrics
    ) -> Counter {
        if let counter = counters[labels] { return counter }
        let counter = Counter(label: label, dimensions: labels.dimensions(name), factory: setting.factory)
        counters[labels] = counter
        return counter
    }
}

/// The codes of failures that labels name.
enum FailureLabel {
    private static let known: Set<ApproovError.Code> = [
        .badRequest, .bindingAmbiguous, .bindingMissing, .bodyFailed, .configurationError, .credentialMissing, .credentialRefused,
        .hostNotAllowed, .initializationError, .interceptorError, .nestedBarrier, .networkingError, .obliviousError, .permanentError,
        .pinningError, .queueEmptied, .queueFull, .recordingMissing, .redirectRefused, .rejectionError, .responseRefused,
        .responseTooLarge, .secureStringError, .sessionInvalidated, .signingFailed, .substitutionFailed, .timedOut, .unsupported,
    ]

    /// Returns the code, "cancelled" without one, or "other" for a code that an app made.
    static func of(_ code: ApproovError.Code?) -> String {
        guard let code else { return "cancelled" }
        return known.contains(code) ? code.rawValue : "other"
    }
}
