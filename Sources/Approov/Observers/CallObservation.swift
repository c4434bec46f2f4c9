import ApproovBase
import Foundation
import FoundationNetworking
import HTTPClient
import HTTPTypes
import Synchronization

/// Who watches the calls of a session: observers, metrics and a tracer.
final class CallObservation: Sendable {
    let queues: [ObserverQueue]
    let wantsTimings: Bool
    /// Whether an observer sees values of header fields.
    let showsHeaders: Bool
    let targets: CallTargets
    let metrics: ClientCounters?
    let tracing: CallTracing?
    /// Whether anyone needs more of a request than its ``CallTarget``.
    let describesRequests: Bool
    let time: any TimeSource
    private let calls = Atomic<UInt64>(0)

    /// Returns nil if no one watches, so that a call costs nothing.
    ///
    /// - Parameters:
    ///   - configuration: The session's settings.
    ///   - names: The names of the token and binding headers; nil without a service.
    ///   - substitutedHeaders: The names, in lower case, of the headers that may carry a secure string.
    ///   - time: The clock.
    /// - Throws: ``ApproovError`` with code `initializationError` when a mask of paths is malformed.
    init?(
        _ configuration: ApproovSessionConfiguration, names: TokenHeaderNames?, substitutedHeaders: Set<String>, time: any TimeSource
    ) throws {
        let masks = try PathMasks(configuration.maskedPaths)
        guard !configuration.observers.isEmpty || configuration.metrics != nil || configuration.tracer != nil else { return nil }
        targets = CallTargets(masks: masks)
        let reserved = PerRequestHeaderStation.reserved(names: names, substitutedHeaders: substitutedHeaders)
        queues = configuration.observers.map { ObserverQueue($0, reserved: reserved) }
        wantsTimings = configuration.observers.contains { $0.wantsTimings }
        showsHeaders = queues.contains { !$0.shown.isEmpty }
        metrics = configuration.metrics.map { ClientCounters($0) }
        tracing = configuration.tracer.map { CallTracing(tracer: $0, reserved: reserved) }
        describesRequests = !queues.isEmpty || tracing != nil
        self.time = time
    }

    deinit { for queue in queues { queue.finish() } }

    /// Begins to watch a call of the app.
    ///
    /// - Parameters:
    ///   - request: The caller's request.
    ///   - secretHeaders: The names, in lower case, of the headers that are not shown.
    /// - Returns: The call.
    func begin(_ request: URLRequest, hiding secretHeaders: Set<String>) -> ObservedCall {
        ObservedCall(
            self, number: calls.add(1, ordering: .relaxed).newValue, method: MethodLabel.of(request.httpMethod), hiding: secretHeaders)
    }
}

/// The methods that labels of metrics and spans name; a label must not have a value for each spelling that an app sends.
enum MethodLabel {
    /// Returns the method, or "_OTHER", as OpenTelemetry's conventions for HTTP spell any other one.
    static func of(_ method: String?) -> String {
        switch method {
        case nil: "GET"
        case let method? where isKnown(method): method
        default: "_OTHER"
        }
    }

    private static func isKnown(_ method: String) -> Bool {
        switch method {
        case "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT": true
        default: false
        }
    }
}
