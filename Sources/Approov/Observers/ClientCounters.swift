import Metrics
import Synchronization

/// The counters and timers of a session, each made when it is first needed.
final class ClientCounters: Sendable {
    /// What is counted.
    private enum Kind {
        case calls
        case failures

        /// The name of the counter.
        var label: String {
            switch self {
            case .calls: "approov_client_calls"
            case .failures: "approov_client_failures"
            }
        }

        /// The name of the dimension that tells the result.
        var dimension: String {
            switch self {
            case .calls: "status"
            case .failures: "code"
            }
        }
    }

    /// The labels of one counter or timer; the number of their values is bounded.
    private struct Labels: Hashable {
        var kind: Kind
        var method: String
        var host: String
        var isAttested: Bool
        var isOblivious: Bool
        /// The class of a status, or the code of a failure.
        var result: String

        /// The labels without the result, which a timer has.
        var dimensions: [(String, String)] {
            [
                ("method", method), ("host", host), ("attested", isAttested ? "true" : "false"),
                ("oblivious", isOblivious ? "true" : "false"),
            ]
        }
    }

    /// What one kind of call counts: itself and its duration.
    private struct Meters {
        let counter: Counter
        let timer: Timer

        func count(_ duration: Duration) {
            counter.increment()
            timer.recordNanoseconds(Int64(min(duration / .nanoseconds(1), 9e18)))
        }
    }

    private let setting: ClientMetrics
    private let made = Mutex<[Labels: Meters]>([:])

    init(_ setting: ClientMetrics) {
        self.setting = setting
    }

    /// Counts a call that got a response.
    func finished(method: String, target: CallTarget, status: Int, duration: Duration) {
        let result =
            switch status {
            case 200..<300: "2xx"
            case 100...599: "\(status / 100)xx"
            default: "other"
            }
        meters(labels(.calls, method, target, result)).count(duration)
    }

    /// Counts a call that failed; `target` is nil if nothing was sent.
    func failed(method: String, target: CallTarget?, code: ApproovError.Code?, duration: Duration) {
        meters(labels(.failures, method, target, FailureLabel.of(code))).count(duration)
    }

    private func labels(_ kind: Kind, _ method: String, _ target: CallTarget?, _ result: String) -> Labels {
        let host = target.map { setting.hosts.contains($0.host) ? $0.host : "other" } ?? "none"
        return Labels(
            kind: kind, method: method, host: host, isAttested: target?.isAttested ?? false, isOblivious: target?.isOblivious ?? false,
            result: result)
    }

    /// Returns the meters for some labels, and makes them when they are first needed.
    ///
    /// The timer has no label for the result: those with equal labels are one timer to the factory.
    private func meters(_ labels: Labels) -> Meters {
        if let meters = made.withLock({ $0[labels] }) { return meters }
        // Outside of the lock: the factory is the app's code, and may itself send requests over this session.
        let dimensions = labels.dimensions + [(labels.kind.dimension, labels.result)]
        let meters = Meters(
            counter: Counter(label: labels.kind.label, dimensions: dimensions, factory: setting.factory),
            timer: Timer(label: "approov_client_duration", dimensions: labels.dimensions, factory: setting.factory))
        return made.withLock { made in
            // Another thread may have been first. Both have the same counter and timer to the factory, so nothing is lost.
            if let first = made[labels] { return first }
            made[labels] = meters
            return meters
        }
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
